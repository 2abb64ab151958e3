"""A plan that is not accepted yet, changed by the user: tasks struck, in another order, or in other words.

Tasks of one plan are begun in the order of their ids, so another order gives them other ids. A task is not put before
one that it depends on: it would be begun after it all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from quintet.domain.base.errors import UsageError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import did_you_mean
from quintet.domain.tasks.page import renamed
from quintet.domain.tasks.task import TaskText

_NUMBERED = regex(r"(.*?)(\d+)")
_PLACED = regex(r"\d+-(?=.)")


def arranged(texts: Sequence[TaskText], order: Sequence[str]) -> list[TaskText]:
    """The tasks that are named, in that order; nothing depends on those that are not named any more."""
    by_id = {text.id: text for text in texts}
    for id in order:
        if id not in by_id:
            raise UsageError(f"the plan has no task {id}.{did_you_mean(id, by_id)}")
    if len(set(order)) < len(order):
        raise UsageError("a task is named twice")
    if not order:
        raise UsageError("a plan needs at least one task; to drop the plan, do not accept it")
    if found := _put_before(texts, order):
        task, needed = (by_id[id] for id in found)
        raise UsageError(
            f"{task.id} ({task.title}) depends on {needed.id} ({needed.title}), so it cannot run before it",
            hint=f"Remove {needed.id}, or plan again without that order.",
        )
    kept = [structs.replace(by_id[id], depends_on=_kept(by_id[id], order)) for id in order]
    named = dict(zip(order, _ids_in_order(order), strict=True))
    return [renamed(text, named) for text in kept]


def reworded(texts: Sequence[TaskText], id: str, words: str) -> list[TaskText]:
    """The plan with one task in other words: the first line is its title, the others say more."""
    if id not in (known := [text.id for text in texts]):
        raise UsageError(f"the plan has no task {id}.{did_you_mean(id, known)}")
    title, _, body = words.strip().partition("\n")
    if not title.strip():
        raise UsageError(f"/arrange edit {id} TEXT: say what the task is")
    more = body.strip()
    changed = {"title": title.strip(), "body": f"{more}\n" if more else ""}
    return [structs.replace(text, **changed) if text.id == id else text for text in texts]


def _put_before(texts: Sequence[TaskText], order: Sequence[str]) -> tuple[str, str] | None:
    """A task that this order puts before one it depends on, and that one; what stood so already may stay."""
    was, now = ({id: place for place, id in enumerate(ids)} for ids in ([text.id for text in texts], order))
    return next(
        (
            (text.id, needed)
            for text in texts
            for needed in text.depends_on
            if text.id in now and needed in now and now[text.id] < now[needed] and was[text.id] > was[needed]
        ),
        None,
    )


def _kept(text: TaskText, order: Sequence[str]) -> tuple[str, ...]:
    return tuple(id for id in text.depends_on if id in order)


def _ids_in_order(order: Sequence[str]) -> list[str]:
    """Ids for tasks in this order: the numbers change hands, and names that are no numbers get one before them."""
    if list(order) == sorted(order):
        return list(order)
    found = [_NUMBERED.fullmatch(id) for id in order]
    forms = {(one[1], len(one[2])) for one in found if one}
    if all(found) and len(forms) == 1:
        return sorted(order)
    width = len(str(len(order)))
    return [f"{place:0{width}}-{_PLACED.sub('', id, count=1)}"[:80] for place, id in enumerate(order, 1)]
