"""Which places `sandbox.show` and `sandbox.give` may open. Pure.

Both are the user's own to say: no project's file sets them. A place that may hold secrets, is Quintet's own, or would
uncover what the sandbox hides is refused, and so is one to write in which lie programs or start-up files of the user's.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from quintet.domain.permission.opened_places import OpenedPlaces
from quintet.domain.permission.protected_names import SECRET_PATHS
from quintet.domain.permission.protected_paths import Protection, protected_by

KERNEL = ("/proc", "/dev", "/sys", "/run", "/var/run")
PROGRAMS = ("bin", "sbin", "shims", "Scripts")  # what folders of programs are called


class Around(Struct, frozen=True):
    """What places are judged by."""

    root: str
    home: str
    own: tuple[str, ...]  # Quintet's settings and state
    programs: tuple[str, ...]  # the folders that the user's programs are started from
    system: tuple[str, ...]  # folders that every sandbox shows
    protection: Protection


Kind = Literal["folder", "file", "other", "nothing"]
Look = Callable[[str], tuple[str, Kind]]  # where a path really is, and what stands there


def judged(show: Sequence[str], give: Sequence[str], around: Around, look: Look) -> OpenedPlaces:
    """The entries of both settings that are followed, as absolute paths, and those that are not."""
    places: dict[str, list[str]] = {"show": [], "give": []}
    refused: list[tuple[str, str, str]] = []
    for name, entries in (("show", show), ("give", give)):
        for entry in entries:
            path = _absolute(entry, around.home)
            why = _refusal(path, name == "give", around, look) if path else NOT_ABSOLUTE
            if why:
                refused.append((f"sandbox.{name}", entry, why))
            elif path not in places[name]:
                places[name].append(path)
    given = tuple(places["give"])
    shown = tuple(path for path in places["show"] if not any(_below(path, one) for one in given))
    return OpenedPlaces(shown, given, tuple(refused))


NOT_ABSOLUTE = "expected an absolute path, or one that begins with ~/"


def _absolute(entry: str, home: str) -> str:
    path = f"{home}/{entry[2:]}" if entry[:2] == "~/" else entry
    return posixpath.normpath(path) if path[:1] == "/" and "\0" not in path else ""


def _refusal(path: str, write: bool, around: Around, look: Look) -> str:
    real, kind = look(path)
    if kind == "other":
        return "only folders and plain files can be shown; a socket or device leads out of the sandbox"
    if write and kind == "file":
        return "only a folder can be given, not a file"
    return next(filter(None, (_place_refusal(one, write, around) for one in dict.fromkeys((path, real)))), "")


def _place_refusal(path: str, write: bool, around: Around) -> str:
    if _below(around.home, path):
        return "it would show your whole home folder"
    if _below(path, around.root) or _below(around.root, path):
        return "it contains the project, or is in the project, which commands see anyway"
    if any(_below(path, one) or _below(one, path) for one in KERNEL):
        return "it belongs to the system"
    if any(_below(path, one) or _below(one, path) for one in around.own):
        return "Quintet's own settings or state are there"
    if around.protection.is_secret(path):
        return "it may contain secrets, which no command sees"
    if held := _secret_below(path, around.home):
        return f"{held} is in it and may contain secrets; choose a folder inside it"
    if not write:
        return ""
    if any(_below(path, one) or _below(one, path) for one in around.system):
        return "it belongs to the system"
    if any(_below(path, one) or _below(one, path) for one in around.programs) or set(PROGRAMS) & set(path.split("/")):
        return "it contains programs that you start: a command could replace them"
    below_home = path.removeprefix(f"{around.home}/") if _below(path, around.home) else ""
    if below_home and (found := protected_by(below_home)):
        return f"a command could change what your own programs run: {found.reason}"
    return ""


def _secret_below(path: str, home: str) -> str:
    """A place of secrets that programs keep below this folder of the home; empty if none is known."""
    if not _below(path, home):
        return ""
    name = posixpath.basename(path)
    return next((one for one in SECRET_PATHS if one.partition("/")[0] == name.lower()), "")


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
