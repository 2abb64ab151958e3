"""How the work of a task comes into the target branch: put onto it, verified again, then the branch is moved forward.

What was verified is what lands: if the target has not moved since, the second verification would look at the same
files and is left out. A conflict or a failed second verification sends the task back with what was found. Of those who
wait to integrate, the first in the plan goes first; one that is still at work is not waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

MOST_ROUNDS = 8  # that the target may move while a task is verified again


class IntegrateWay(StrEnum):
    """What becomes of work that is verified."""

    MERGE = "merge"
    BRANCH = "branch"
    PULL_REQUEST = "pull-request"


class RebaseKind(StrEnum):
    SAME = "same"  # the target has not moved
    MOVED = "moved"  # it has, and the work fits onto it
    CONFLICT = "conflict"
    EMPTY = "empty"  # nothing was changed
    LOST = "lost"  # the task is another's by now


class LandKind(StrEnum):
    LANDED = "landed"
    AGAIN = "again"  # the target has moved meanwhile
    LATER = "later"  # your checkout has unsaved work in the same files
    LOST = "lost"  # the task is another's by now


class AfterRebase(StrEnum):
    LAND = "land"
    VERIFY = "verify"
    SEND_BACK = "send back"
    CLOSE = "close"  # there is nothing to land
    STOP = "stop"  # what becomes of it is another's matter


class Rebased(Struct, frozen=True):
    """What came of putting a task's work onto the target."""

    kind: RebaseKind
    findings: str = ""  # of a conflict: what stands against what
    target: str = ""


class Landed(Struct, frozen=True):
    kind: LandKind
    said: str = ""


def after_rebase(rebased: Rebased) -> AfterRebase:
    match rebased.kind:
        case RebaseKind.SAME:
            return AfterRebase.LAND
        case RebaseKind.MOVED:
            return AfterRebase.VERIFY
        case RebaseKind.CONFLICT:
            return AfterRebase.SEND_BACK
        case RebaseKind.EMPTY:
            return AfterRebase.CLOSE
        case RebaseKind.LOST:
            return AfterRebase.STOP


def goes_first(task: str, waiting: Mapping[str, tuple[str, str]]) -> bool:
    """Whether a task may integrate now, of those that wait to, each with its place in the plan."""
    return task not in waiting or waiting[task] == min(waiting.values())


def in_unsaved_work(changed: Iterable[str], unsaved: Iterable[str]) -> tuple[str, ...]:
    """The files that a landing would change under the user's hands; a folder stands for all below it."""
    open_ = set(unsaved)
    folders = tuple(path for path in open_ if path.endswith("/"))
    hit = [path for path in changed if path in open_ or (folders and path.startswith(folders))]
    hit += [path for path in open_ if any(path.startswith(f"{one}/") for one in changed)]
    return tuple(sorted(set(hit)))


def later(paths: Iterable[str], target: str) -> str:
    return f"verified; not yet integrated into {target}: your checkout has unsaved work in {', '.join(paths)}"
