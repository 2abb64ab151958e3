"""`quintet aside`: what a killed session may have left in protected places, and what was moved out of the project."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.files.private_files import listed
from quintet.adapters.protected.crash_record import move_all_aside
from quintet.adapters.protected.left_behind import left_behind, names, protection_then
from quintet.adapters.protected.moved_aside import STORES, move_back, new_store
from quintet.adapters.settings import layers as config
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.safe_text import visible
from quintet.surfaces.tables import say, say_json

if TYPE_CHECKING:
    from quintet.adapters.protected.crash_record import AbandonedRecord
    from quintet.domain.settings.settings import Settings

MOST_MOVED = 50
NOTHING_LEFT = "no session that was killed left files here"


def aside_list(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    found = _found(places)
    moved = _moved_out(places)
    if arguments.json:
        say_json({"found": found, "done": [], "moved": moved})
        return 1 if found else 0
    lines = [visible(line) for line in found] or ([] if moved else [NOTHING_LEFT])
    if moved:
        lines += ["moved out of the project before:", *(f"  {visible(name)}" for name in moved)]
        lines.append("quintet aside back PATH restores one")
    say(lines)
    return 1 if found else 0


def _found(places: Places) -> list[str]:
    left_ones = left_behind(places, config.load(places).settings)
    return [name for left, paths in left_ones for name in names(places, left, paths)]


def _moved_out(places: Places) -> list[str]:
    """What was moved out and not restored, each name once."""
    found: dict[str, None] = {}
    for store in _stores(places):
        for folder, _, files in os.walk(store):
            found |= {os.path.relpath(os.path.join(folder, name), store): None for name in sorted(files)}
    return list(found)[:MOST_MOVED]


def _stores(places: Places) -> list[str]:
    """The folders of what was moved out, the newest first."""
    parent = os.path.join(places.scratch, STORES)
    stamps = [stamp for stamp in listed(parent) if stamp.replace("-", "").isdigit()]
    stamps.sort(key=lambda stamp: [int(number) for number in stamp.split("-")], reverse=True)
    return [os.path.join(parent, stamp) for stamp in stamps]


def aside_move(arguments: Namespace) -> int:
    _each(arguments, lambda places, settings, left, paths: _moved(places, settings, left))
    return 0


def aside_keep(arguments: Namespace) -> int:
    _each(arguments, lambda places, settings, left, paths: _kept(left, paths))
    return 0


def _each(arguments: Namespace, do: Callable[[Places, Settings, AbandonedRecord, list[str]], list[str]]) -> list[str]:
    """Do it to each, say what was done or found, and return what was found."""
    places = locate(arguments.directory)
    settings = config.load(places).settings
    left_ones = left_behind(places, settings)
    done = [line for left, paths in left_ones for line in do(places, settings, left, paths)]
    found = [name for left, paths in left_ones for name in names(places, left, paths)]
    if arguments.json:
        say_json({"found": found, "done": done})
    else:
        say([visible(line) for line in done or found] or [NOTHING_LEFT])
    return found


def _kept(left: AbandonedRecord, paths: list[str]) -> list[str]:
    left.forget()
    return [f"{path} stays in the project" for path in paths]


def _moved(places: Places, settings: Settings, left: AbandonedRecord) -> list[str]:
    if not left.legible:
        return [
            ("Quintet does not know which files were here before: move what is not yours, then run quintet aside keep")
        ]
    protection = protection_then(places, settings, left)
    said = move_all_aside(left.root, left.found(protection, reopening=True), new_store(places.scratch))
    if not left.found(protection):
        left.forget()
    return said


def aside_back(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    name = os.path.normpath(arguments.path)
    if not arguments.path or name in (".", "..") or name.startswith(("../", "/")):
        raise UsageError("quintet aside back PATH: the path in the project, as in the notice")
    store = _taken_back(places, name)
    if arguments.json:
        say_json({"back": name, "from": store})
    else:
        say([f"{visible(name)} was restored. Other programs may run what it names: check it first."])
    return 0


def _taken_back(places: Places, name: str) -> str:
    """Take it back, and say which folder it was in; what stands where it was is not touched."""
    for store in _stores(places):
        try:
            move_back(places.root, name, store)
        except FileNotFoundError:
            continue
        except FileExistsError:
            there = f"{visible(name)} already exists: move it elsewhere first"
            raise UsageError(f"{there}. The moved file is in {visible(store)}") from None
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"{visible(name)}: cannot be restored ({why}). It is in {visible(store)}") from None
        return store
    raise NotFound(f"{visible(name)}: no file with this name was moved out of the project")


def _path(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="the path in the project, as in the notice")


_LEFT = "what a killed session may have left in protected paths"
ASIDE = actions(
    "aside",
    {
        "list": lookup("aside list", f"W{_LEFT[1:]}; exit code 1 if anything.", aside_list),
        "move": lookup("aside move", f"Move {_LEFT} out of the project.", aside_move),
        "keep": lookup("aside keep", f"Keep {_LEFT}.", aside_keep),
        "back": lookup("aside back", "Restore what was moved out of the project.", aside_back, _path),
    },
)
