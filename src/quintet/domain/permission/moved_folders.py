"""What moving a folder carries along: judged by everything below it, where that is and where it would be.

The names that a call gives say nothing of what lies below them. What is a secret, git's or Quintet's own is not carried
by a file tool; what takes a person's yes is named, so that the gate asks. A tree of other people's code is not looked
into by anything, so below a folder that is moved it stays what it is; what is moved out of one, or into one, is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from quintet.domain.permission.protected_paths import Protection, is_repository, is_write_protected

FOREIGN = frozenset({"node_modules", "site-packages", ".venv", "venv", ".tox", ".nox"})
MOST_ENTRIES = 20_000  # looked at below a folder that is moved
MOST_DEPTH = 200
MOST_ASKED = 200  # for one yes
BY_COMMAND = "a file tool cannot move it; the command mv can"


class MoveCheck(Struct, frozen=True):
    refused: str = ""  # why the move cannot be approved
    asked: tuple[str, ...] = ()  # what takes a yes, relative to the project, as it is or as it would be
    asks: str = ""  # why the move as a whole takes one


class FolderContents(Struct, frozen=True):
    """What a look below a folder found."""

    folders: tuple[tuple[str, tuple[str, ...]], ...] = ()  # each relative to the moved folder, with its entries
    closed: str = ""  # a folder that could not be looked into
    more: bool = False  # it ended before the end


def stays_foreign(source: str, destination: str) -> bool:
    """Whether both lie in trees that nothing looks into: what a move carries is guarded as much as before."""
    return all(not FOREIGN.isdisjoint(path.split("/")) for path in (source, destination))


def above_own(source: str, destination: str, protection: Protection) -> str:
    """Why a file, folder or link may not leave or take one of these places; empty if it may."""
    for path in filter(None, (source, destination)):
        if own := next((one for one in protection.private if one.lower().startswith(f"{path.lower()}/")), ""):
            return f"{own} is protected: it belongs to Quintet, and {path} leads to it"
    return ""


def judged(below: FolderContents, source: str, destination: str, protection: Protection) -> MoveCheck:
    """What to say of moving a folder; the paths are relative to the project."""
    if below.closed:
        return MoveCheck(f"{_joined(source, below.closed)} cannot be read, so its content is not known")
    asked: dict[str, None] = {}
    for folder, names in below.folders:
        if is_repository(names):
            return MoveCheck(f"{_joined(source, folder)} is a git repository: {BY_COMMAND}")
        for name in names:
            for place in (source, destination):
                path = _joined(_joined(place, folder), name)
                if why := _refused(path, protection):
                    return MoveCheck(f"{_joined(_joined(source, folder), name)} {why}")
                if protection.asks(path):
                    asked[path] = None
    if len(asked) > MOST_ASKED:
        return MoveCheck(f"{source} contains {len(asked)} files that need approval, too many for one question")
    return MoveCheck(asked=tuple(asked), asks=f"{source} contains too many files to check" if below.more else "")


def completes_repository(there: Iterable[str], name: str) -> bool:
    """Whether a folder becomes a repository to git by one more entry."""
    names: Sequence[str] = tuple(there)
    return not is_repository(names) and is_repository((*names, name))


def _refused(path: str, protection: Protection) -> str:
    if is_write_protected(path):
        return f"is protected: {BY_COMMAND}"
    if protection.private and protection.is_private(path):
        return "belongs to Quintet, or would after the move"
    return f"may contain secrets: {BY_COMMAND}" if protection.is_secret(path) else ""


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name
