"""A plan as text: task pages in fenced blocks, as a planner answers with them, and what becomes of their ids.

A plan without pages adds nothing. Ids that are taken are given anew, with the dependencies on them; a task that stands
already, word for word, is left out, and who depends on it depends on the one that stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import structs

from quintet.domain.base.lazy_regex import regex
from quintet.domain.tasks.cycle import request_of
from quintet.domain.tasks.page import FENCE, write_page
from quintet.domain.tasks.task import TaskText

BLOCK = "~~~~"
_FENCED = regex(r"(?ms)^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<page>---\s*\n.*?)^(?P=fence)[`~]*[ \t]*$")
_NUMBERED = regex(r"task-(\d+)")


def pages_in(answer: str) -> list[tuple[str, str]]:
    """The pages of an answer, each with a name for messages; none if it holds none."""
    found = [match["page"] for match in _FENCED.finditer(answer)]
    if not found and answer.lstrip().startswith(f"{FENCE}\n"):
        found = [answer.lstrip()]
    return [(f"task {number} of the plan", page.rstrip("\n") + "\n") for number, page in enumerate(found, 1)]


def as_text(texts: Iterable[TaskText]) -> str:
    return "\n\n".join(f"{BLOCK}task\n{write_page(text).rstrip()}\n{BLOCK}" for text in texts)


def fresh(texts: Sequence[TaskText], there: Iterable[TaskText], taken: Collection[str]) -> list[TaskText]:
    """The tasks of a plan that are not `there`, with ids that are not `taken`."""
    known = {_said(text): text.id for text in there}
    new = [text for text in texts if _said(text) not in known]
    named = {text.id: known[_said(text)] for text in texts if _said(text) in known}
    free = _first_free({*taken, *(text.id for text in new)})
    for text in new:
        if text.id in taken and text.id not in named:
            named[text.id] = f"task-{free:03}"
            free += 1
    return [_renamed(text, named) for text in new] if named else new


def _said(text: TaskText) -> tuple[str, str, str]:
    return text.title, request_of(text.body), text.verification


def _first_free(ids: Iterable[str]) -> int:
    return max((int(found[1]) for id in ids if (found := _NUMBERED.fullmatch(id))), default=0) + 1


def _renamed(text: TaskText, named: Mapping[str, str]) -> TaskText:
    needs = tuple(named.get(id, id) for id in text.depends_on)
    return structs.replace(text, id=named.get(text.id, text.id), depends_on=needs)
