"""What a run did to files, and how to take it back: pure.

A file's state is a word: empty where there is no file, else kind and access bits in octal and the name of its content
("100644 <id>"; a folder has bits only, and "40000" where they are the usual ones). Changes of one path, in order, are
its trail; a trail whose parts do not meet was crossed by somebody else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

FOLDER = "40000"
MOST_DIFFED = 2_000_000  # bytes of a file
OUTSIDE = "changed from outside since then"
CROSSED = "changed from outside between two changes of the run"


class FileChange(Struct, frozen=True, gc=False):
    path: str
    before: str  # its state; empty if there was no file
    after: str


class Trail(Struct):
    """One path from the first change of it to the last."""

    first: str
    last: str
    crossed: bool = False


class Restoration(Struct, frozen=True):
    path: str
    now: str
    target: str
    exactly: bool = False  # the target's access bits are its own, and not git's


class LeftAlone(Struct, frozen=True):
    path: str
    reason: str
    interrupted: bool = False  # somebody stopped the restoring before it


class RewindPlan(Struct, frozen=True):
    """What taking changes back would do."""

    restore: tuple[Restoration, ...] = ()
    left: tuple[LeftAlone, ...] = ()
    already: tuple[FileChange, ...] = ()  # as they were before, though nobody recorded who did that


def same(one: str, other: str) -> bool:
    """Whether two states are one to git, which knows of access bits only whether a file can be run."""
    return one == other or _canonical(one) == _canonical(other)


def names_folder(state: str) -> bool:
    return state.startswith("4")


def _canonical(state: str) -> str:
    if names_folder(state):
        return FOLDER
    bits, _, content = state.partition(" ")
    if len(bits) != 6 or not bits.startswith("10"):
        return state
    return f"{'100755' if int(bits, 8) & 0o100 else '100644'} {content}"


def trails(changes: Iterable[FileChange]) -> dict[str, Trail]:
    found: dict[str, Trail] = {}
    for change in changes:
        trail = found.get(change.path)
        if trail is None:
            found[change.path] = Trail(change.before, change.after)
        else:
            trail.crossed = trail.crossed or not _meet(trail.last, change.before)
            trail.last = change.after
    return found


def _meet(last: str, before: str) -> bool:
    """Whether nobody came between: a tree holds no folders, so one that a change left may not be seen by the next."""
    return same(last, before) or (names_folder(last) and not before)


def plan(found: Mapping[str, Trail], now: Mapping[str, str]) -> RewindPlan:
    """Each path goes back to where its trail began, unless somebody else changed it on the way or since.

    What the run deleted in the end comes back all the same: there is nobody's work in its place.
    """
    restore, left, already = [], [], []
    for path, trail in sorted(found.items()):
        is_now = now.get(path, "")
        if names_folder(is_now) and not (names_folder(trail.first) or names_folder(trail.last)):
            is_now = ""  # what was a file is a folder now: there is no such file
        if same(is_now, trail.first):
            if not same(trail.last, trail.first):
                already.append(FileChange(path, trail.last, trail.first))
        elif trail.crossed and (is_now or trail.last):
            left.append(LeftAlone(path, CROSSED))
        elif not same(is_now, trail.last):
            left.append(LeftAlone(path, OUTSIDE))
        else:
            restore.append(Restoration(path, is_now, trail.first))
    return RewindPlan(tuple(restore), tuple(left), tuple(already))


def uncovers(changes: Iterable[FileChange]) -> bool:
    """Whether an ignore file is not what it was: a file that is seen for the first time may then be an old one."""
    return any(change.path.rpartition("/")[2] == ".gitignore" for change in changes)


def unified(path: str, before: bytes | None, after: bytes | None) -> str:
    """One file's unified diff; None where there is no file. Bytes that are no text are only named."""
    from difflib import unified_diff  # only where somebody looks

    if any(data and (b"\0" in data[:8192] or len(data) > MOST_DIFFED) for data in (before, after)):
        return f"{path}: not shown, because it is not text or too large"
    old, new = (data.decode("utf-8", "replace").splitlines() if data else [] for data in (before, after))
    names = (f"a/{path}" if before is not None else "/dev/null", f"b/{path}" if after is not None else "/dev/null")
    return "\n".join(unified_diff(old, new, *names, lineterm=""))


def counted_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Lines added and removed, as a bag of lines: cheap, and right unless lines only moved. Nothing for bytes."""
    if b"\0" in before[:8192] or b"\0" in after[:8192]:
        return 0, 0
    old, new = Counter(before.splitlines()), Counter(after.splitlines())
    return (new - old).total(), (old - new).total()
