"""Takes files back to a point: what it would do, and doing it.

Only what the session's own calls changed since is touched, and of that only what nobody else changed since. The present
is kept first, so that a rewind is one more point to go back to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import takewhile

from msgspec import Struct, structs

from quintet.domain.base.errors import ToolFailed, UsageError
from quintet.domain.journal.call_events import KeptForCall
from quintet.domain.journal.file_changes import (
    FileChange,
    LeftAlone,
    Restoration,
    RewindPlan,
    names_folder,
    plan,
    trails,
    uncovers,
)
from quintet.domain.journal.protocol import CheckpointTaken, Event, FilesChanged
from quintet.domain.permission.protected_paths import PROTECTION, Protection, is_write_protected
from quintet.domain.ports.ports import Checkpoints
from quintet.engine.checkpoints.rewind_points import Point

MOST_PATHS = 20
MOST_HIDDEN = 200
NESTED = "a separate repository: its content is not saved"
SECRET = "may contain secrets: not saved"
LARGE = "too large or not readable: not saved"
CUT = "its process ended during a call: the changes of that call may not be known"
PARTLY = "no snapshot could be taken: what commands changed is not known"
KEPT = "protected: a command may have made it; only changes by a file tool are restored"
HIDDEN = "hidden by a new ignore rule: it is not known who made it"
UNSURE = "became visible when .gitignore changed, and may have been there before"


class Prospect(Struct):
    """What going back would do to files."""

    plan: RewindPlan
    exact: frozenset[str]  # paths that were told one by one, which snapshots may not show
    lines: dict[str, tuple[int, int]]  # added and removed, by path
    lacking: list[LeftAlone]  # what nobody can tell or restore


async def look_ahead(
    kept: Checkpoints, points: list[Point], to: Point, protection: Protection = PROTECTION
) -> Prospect:
    since = [point for point in points if point.start >= to.start]
    there = await kept.kept()
    gone = [point.number for point in since if point.changes and point.id not in there]
    if gone:
        later = f"; /rewind {gone[-1] + 1} works too" if gone[-1] < len(points) else ""
        raise UsageError(
            f"the files of {gone[0]} are no longer saved (checkpoints.keep); /rewind {to.number} "
            f"conversation still works{later}"
        )
    changes: list[FileChange] = []
    exact: set[str] = set()
    begins_exactly: dict[str, bool] = {}
    lacking = {name: LeftAlone(name, _why_lacking(name, protection)) for p in since for name in p.lacking}
    for change in [change for point in since for change in point.changes]:
        if change.before:
            told = {file.path for file in change.files}
            compared = (await kept.compare(change.before, change.after, folders=True)).changes
            compared = [c for c in compared if c.path not in told and (c.before or c.path not in lacking)]
            if change.unsure:
                old = await kept.ignored(change.before, [c.path for c in compared if not c.before])
                lacking |= {path: LeftAlone(path, UNSURE) for path in old}
                compared = [c for c in compared if c.path not in old]
            changes += compared
            begins_exactly = {**dict.fromkeys((c.path for c in compared), False), **begins_exactly}
        changes += change.files
        begins_exactly = {**{file.path: True for file in change.files}, **begins_exactly}
        exact |= {file.path for file in change.files}
    for taken in [taken for point in since for taken in point.unseen]:
        lost = await _vanished(kept, taken, to.id)
        changes += lost
        begins_exactly = {**{file.path: True for file in lost}, **begins_exactly}
        exact |= {file.path for file in lost}
    first = next((change.before for point in since for change in point.changes if change.before), "")
    if first:
        hidden = await kept.hidden(first, epoch(to.at))
        lacking |= {path: LeftAlone(path, HIDDEN) for path in hidden[:MOST_HIDDEN] if path not in exact}
    found = trails(changes)
    planned = spared(plan(found, await kept.now(found)), exact, protection)
    restore = tuple(structs.replace(one, exactly=begins_exactly[one.path]) for one in planned.restore)
    planned = structs.replace(planned, restore=restore)
    files = [one for one in planned.restore if not is_folder(one)]
    counts = await kept.lines([(one.now, one.target) for one in files])
    notes = [LeftAlone(f"turn {point.number}", CUT) for point in since if point.cut and point.taken]
    notes += [LeftAlone(f"turn {point.number}", PARTLY) for point in since if point.partly]
    lines = {one.path: pair for one, pair in zip(files, counts, strict=True)}
    return Prospect(planned, frozenset(exact), lines, [*lacking.values(), *notes])


async def _vanished(kept: Checkpoints, taken: CheckpointTaken, point: str) -> list[FileChange]:
    """What was kept before a call that deletes and is gone, though nobody saw the call end."""
    if not isinstance(taken.kept, KeptForCall):
        return []
    states = {path: state for path, state in taken.kept.states.items() if state}
    now = await kept.now(states)
    found = {path: state for path, state in states.items() if not now[path]}
    if taken.tree and (tree := await _tree(kept, point)):
        starts = [_fixed(path) for path in taken.kept.paths]
        for change in (await kept.compare(taken.tree, tree)).changes:
            if not change.after and any(not start or f"{change.path}/".startswith(start) for start in starts):
                found.setdefault(change.path, change.before)
    return [FileChange(path, state, "") for path, state in found.items()]


def _fixed(path: str) -> str:
    """The folders of a path before anything in it that is a pattern; empty if all of the project may be meant."""
    steps = [step for step in path.split("/") if step not in ("", ".")]
    named = list(takewhile(lambda step: not set("*?[") & set(step), steps))
    return "/".join((*named, "")) if named and path[:1] != "/" and ".." not in named else ""


def epoch(at: str) -> float:
    """Seconds since 1970 of an instant in the journal."""
    return datetime.fromisoformat(at).timestamp()


def spared(planned: RewindPlan, exact: set[str], protection: Protection) -> RewindPlan:
    """Without what is protected, unless a file tool, which asked, changed it: taking it away is always right."""
    kept = {
        one.path
        for one in planned.restore
        if one.target and one.path not in exact and (is_write_protected(one.path) or protection.asks(one.path))
    }
    left = (LeftAlone(one.path, KEPT) for one in planned.restore if one.path in kept and not is_folder(one))
    restore = tuple(one for one in planned.restore if one.path not in kept)
    return RewindPlan(restore, (*planned.left, *left), planned.already)


def _why_lacking(name: str, protection: Protection) -> str:
    if name.endswith("/"):
        return NESTED
    return SECRET if protection.is_secret(name) else LARGE


async def take_back(
    kept: Checkpoints, seen: Prospect, point: str, note: Callable[[Event], Awaitable[object]]
) -> tuple[list[Event], list[LeftAlone]]:
    """Restore what was planned; the events that say so, and what was left alone after all."""
    if not (seen.plan.restore or seen.plan.already):
        return [], list(seen.plan.left)
    paths = [one.path for one in seen.plan.restore]
    before = await _tree(kept, point)
    await kept.keep(point, [path for path in paths if path in seen.exact])
    await note(CheckpointTaken(point=point, tree=before))
    failed = await kept.restore(seen.plan.restore)
    after = await _tree(kept, point) if before else ""
    if not after or before == after:
        before = after = ""
    shown = (await kept.compare(before, after)).changes if after else []
    unsure = uncovers(shown)
    covered = set() if unsure else {change.path for change in shown}
    not_done = {one.path for one in failed}
    done = [one for one in seen.plan.restore if one.path not in not_done]
    told = [FileChange(one.path, one.now, one.target) for one in done if _apart(one, seen.exact, unsure or not after)]
    told += [change for change in seen.plan.already if _text(change.path)]
    changed = FilesChanged(
        point=point,
        call=point,
        before=before,
        after=after,
        files=tuple(change for change in told if change.path not in covered),
        paths=tuple(_shown(one.path) for one in done if not is_folder(one))[:MOST_PATHS],
        count=sum(not is_folder(one) for one in done),
        added=sum(seen.lines.get(one.path, (0, 0))[0] for one in done),
        removed=sum(seen.lines.get(one.path, (0, 0))[1] for one in done),
        unsure=unsure,
    )
    return ([changed] if done or changed.files else []), [*seen.plan.left, *failed]


async def _tree(kept: Checkpoints, point: str) -> str:
    """All files as they are; empty where that cannot be kept, and what single files were is kept all the same."""
    if not kept.whole:
        return ""
    try:
        return (await kept.snapshot(point)).tree
    except ToolFailed:
        return ""


def _apart(one: Restoration, exact: frozenset[str], alone: bool) -> bool:
    """Whether two snapshots would not show it for sure: an ignored file, or a folder, or there are none."""
    return _text(one.path) and (alone or one.path in exact or is_folder(one))


def is_folder(one: Restoration) -> bool:
    """Whether a folder is made or removed; a file that stands in one's place, or gives way to one, is a file."""
    return all(not state or names_folder(state) for state in (one.now, one.target))


def _text(path: str) -> bool:
    return _shown(path) == path


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()
