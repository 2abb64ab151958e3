"""What a session that was killed may have left in protected places, said at the next start, and `quintet aside`.

Whether a command made it or you did since cannot be told, so nothing is moved unasked. What Quintet itself loads waits
for trust in any case: that is for contents.
"""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from quintet.adapters.places import Places, locate
from quintet.domain.errors import NotFound, UsageError
from quintet.domain.listing import few
from quintet.domain.visible import on_one_line, visible

if TYPE_CHECKING:
    from quintet.adapters.sandbox.unsettled import Left
    from quintet.domain.protected import Protection
    from quintet.domain.settings import Settings

MOST_NAMED = 8


def left_behind(places: Places, settings: Settings) -> list[tuple[Left, list[str]]]:
    """The records of killed sessions here, each with what is there since; those with nothing are forgotten."""
    try:
        if not os.listdir(places.unsettled):
            return []
    except OSError:  # no command ever ran
        return []
    from quintet.adapters.sandbox.unsettled import left_in

    found = []
    for left in left_in(places.unsettled, places.root):
        if paths := left.found(_protection(places, settings, left)):
            found.append((left, paths))
        else:
            left.forget()
    return found


def _protection(places: Places, settings: Settings, left: Left) -> Protection:
    from quintet.adapters.terms import protection_of

    return protection_of(msgspec.structs.replace(places, root=left.root), settings)


def left_note(places: Places, settings: Settings) -> str:
    """What to tell at the start of a session; empty if there is nothing."""
    found = left_behind(places, settings)
    names = list(dict.fromkeys(name for left, paths in found for name in _names(places, left, paths)))
    if not names:
        return ""
    return (
        f"A session was killed here while a command ran, and its end was not looked over. New in protected places: "
        f"{few(names, MOST_NAMED)}. A command may have put it there, or you did since; programs of yours act on it. "
        "Look before you go on: quintet aside lists it, quintet aside move moves it away, quintet aside keep takes it "
        "as yours."
    )


def _names(places: Places, left: Left, paths: list[str]) -> list[str]:
    unsure = "" if left.legible else " (what stood before is not known)"
    return [on_one_line(os.path.relpath(path, places.root)) + unsure for path in paths]


def aside(arguments: Namespace) -> int:
    """List it, move it away, or take it as the user's own; listing ends with 1 if there is anything."""
    from quintet.adapters import config
    from quintet.surfaces.tables import say, say_json

    places = locate(arguments.directory)
    if arguments.action == "back":
        say([taken_back(places, arguments.path or "")])
        return 0
    settings = config.load(places).settings
    found = left_behind(places, settings)
    done: list[str] = []
    for left, paths in found:
        if arguments.action == "move":
            done += _moved(places, settings, left)
        elif arguments.action == "keep":
            left.forget()
            done += [f"{path} is kept" for path in paths]
    listed = [name for left, paths in found for name in _names(places, left, paths)]
    if arguments.json:
        say_json({"found": listed, "done": done})
    elif arguments.action:
        say([visible(line) for line in done] or ["no killed session left anything here"])
    else:
        say(listed or ["no killed session left anything here"])
    return 1 if listed and not arguments.action else 0


def taken_back(places: Places, path: str) -> str:
    """Bring back what was moved out of the project, the newest of that name; what stands there is not touched."""
    name = os.path.normpath(path)
    if not path or name in (".", "..") or name.startswith(("../", "/")):
        raise UsageError("quintet aside back PATH: the path in the project, as the notice named it")
    store = os.path.join(places.scratch, "aside")
    stamps = sorted(os.listdir(store), reverse=True) if os.path.isdir(store) else []
    found = next((one for stamp in stamps if os.path.lexists(one := os.path.join(store, stamp, name))), "")
    to = os.path.join(places.root, name)
    if not found:
        raise NotFound(f"{visible(name)}: nothing of that name was moved out of this project")
    if os.path.lexists(to):
        raise UsageError(f"{visible(name)} is there already: move it away first. The other one is {visible(found)}")
    above = os.path.dirname(to)
    if not f"{os.path.realpath(above)}/".startswith(f"{places.root}/"):
        raise UsageError(f"{visible(name)}: a link on the way leads out of the project. It is {visible(found)}")
    from shutil import move

    os.makedirs(above, exist_ok=True)
    move(found, to)
    return f"{visible(name)} is back. Quintet loads it only after you trust it; other programs do not ask"


def _moved(places: Places, settings: Settings, left: Left) -> list[str]:
    from quintet.adapters.sandbox.unsettled import put_all_aside

    if not left.legible:
        return ["what stood here before is not known: move by hand what is not yours, then quintet aside keep"]
    protection = _protection(places, settings, left)
    said = put_all_aside(left.root, left.found(protection, reopening=True), os.path.join(places.scratch, "aside"))
    if not left.found(protection):
        left.forget()
    return said
