"""`quintet settings`: every setting, its value, and where it came from; `quintet trust`: whether a folder's own count.

`trust` shows what a folder would do, asks the person at the terminal, and records the answer. With nobody at the
terminal, or with --yes, the command itself is the yes.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.trust import accept, pieces, set_trust, trust_of, trusted_folders
from quintet.app.trust_question import difference, effects, named
from quintet.cli.parsing import lookup
from quintet.domain.base.safe_text import on_one_line, visible
from quintet.domain.permission.trusted_content import Pieces, changes
from quintet.surfaces.tables import complain, say, say_json
from quintet.surfaces.typed_line import typed_line


def settings(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    rows = config.shown(loaded)
    for warning in loaded.warnings:
        complain(warning)
    if arguments.json:
        say_json([{"key": key, "value": value, "source": source} for key, value, source in rows])
        return 0
    say(config.as_lines(loaded))
    say(
        [
            "",
            f"yours      {on_one_line(places.user_settings)}{_absent(places.user_settings)}",
            f"project's  {on_one_line(places.project_settings)}{_absent(places.project_settings)}",
            "variables  QUINTET_SECTION_KEY, for example QUINTET_LIMITS_MAX_COST=5",
        ]
    )
    return 0


def _absent(path: str) -> str:
    return "" if os.path.exists(path) else "  (no such file)"


SETTINGS = lookup("settings", "Show every setting, its value, and where it comes from.", settings)


def trust(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    if arguments.list:
        folders = trusted_folders(places.trust_file)
        if arguments.json:
            say_json(folders)
        else:
            say(list(map(on_one_line, folders)) or ["no folder is trusted"])
        return 0
    if arguments.check:
        return _check(places, as_json=arguments.json)
    if arguments.revoke:
        return _revoked(places, as_json=arguments.json)
    return _trusted(places, as_json=arguments.json, unasked=arguments.yes)


def _revoked(places: Places, *, as_json: bool) -> int:
    changed = set_trust(places.trust_file, places.root, False)
    if as_json:
        say_json({"folder": places.root, "trusted": False, "changed": changed, "covers": []})
    else:
        say([f"{on_one_line(places.root)} is no longer trusted"])
    return 0


def _trusted(places: Places, *, as_json: bool, unasked: bool) -> int:
    """What is shown is what is trusted: it is read once."""
    found = pieces(places)
    does, folder = effects(places, found), on_one_line(places.root)
    before = trust_of(places.trust_file, places.root)
    covered = all(before.covers(name, data) for name, data in found.items())
    if not covered and not unasked and _attached():
        out = sys.stderr if as_json else sys.stdout
        question = [f"Trusting {folder} allows this:", *_brought(found), *_doing(does), "Trust it? [y/N] "]
        if typed_line("\n".join(question), out).lower() not in ("y", "yes"):
            say([f"{folder} is not trusted" if not before.trusted else "Nothing new is trusted."])
            return 1
    changed = accept(places, found)
    if as_json:
        answer = {"folder": places.root, "trusted": True, "changed": changed}
        say_json({**answer, "covers": sorted(found), "does": does})
        return 0
    about = " with" if found else "; it has no files of its own yet"
    say([f"{folder} is{' now' if changed else ''} trusted{about}", *_brought(found), *_doing(does)])
    return 0


def _attached() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _brought(found: Pieces) -> list[str]:
    return [f"  {named(name, found)}" for name in sorted(found)]


def _doing(does: list[str]) -> list[str]:
    return ["Because it is trusted, it does this:", *(f"  {line}" for line in does)] if does else []


def _check(places: Places, *, as_json: bool) -> int:
    """What is new or has changed since the yes; 1 if anything has."""
    trust, found = trust_of(places.trust_file, places.root), pieces(places)
    since = changes(trust, found)
    if as_json:
        listed = [{"name": one.name, "kind": one.kind} for one in since]
        does = effects(places, {one.name: found[one.name] for one in since} if trust.trusted else found)
        say_json({"folder": places.root, "trusted": trust.trusted, "changes": listed, "does": does})
    elif not trust.trusted:
        say([f"{on_one_line(places.root)} is not trusted; if you trust it:"])
        say([*_brought(found), *_doing(effects(places, found))])
    elif not since:
        say(["nothing is new or changed since you trusted this folder"])
    else:
        say([named(one.name, found, one.kind) for one in since])
        say([*_doing(effects(places, {one.name: found[one.name] for one in since})), ""])
        say([visible(line) for one in since for line in difference(places, trust, one.name, found)])
    return 1 if since else 0


def _flags(parser: ArgumentParser) -> None:
    parser.add_argument("--revoke", action="store_true", help="stop trusting the folder")
    parser.add_argument("--list", action="store_true", help="list the trusted folders")
    parser.add_argument("--check", action="store_true", help="show what is new or changed since you trusted it")
    parser.add_argument("--yes", action="store_true", help="do not ask, even at a terminal")


TRUST = lookup(
    "trust",
    "Show what this folder's settings, tools and servers would do, ask, and trust it.",
    trust,
    _flags,
)
