"""`quintet schedule`: the words that every surface has, and what only a terminal has: work, install, uninstall.

A timer asks each minute what is due, and mostly nothing is: that question loads no more than the book.
"""

from __future__ import annotations

import contextlib
import time
from argparse import ArgumentParser, Namespace

from quintet.adapters.files.paths import locate
from quintet.adapters.stores.chosen import database_url
from quintet.cli.parsing import Command, actions, dial_flags, lookup
from quintet.features.schedule.store import SqliteSchedules, is_there
from quintet.package import load

ROOM = "features.schedule"


def word(action: str) -> Command:
    return lambda arguments: int(load(f"{ROOM}.commands:word")(action, arguments))


def run(arguments: list[str]) -> int:
    return int(load(f"{ROOM}.commands:run")(arguments))


def work(words: Namespace) -> int:
    if words.once and _nothing_to_do(words.directory):
        return 0
    return int(load(f"{ROOM}.commands:work")(words))


def _nothing_to_do(directory: str) -> bool:
    places = locate(directory)
    if database_url(places):
        return False  # a server is asked by who does the work
    if not is_there():
        return True
    with contextlib.closing(SqliteSchedules()) as store:
        idle = store.is_idle(now := int(time.time()))
        if idle:
            store.looked(now)
        return idle


def _once(parser: ArgumentParser) -> None:
    dial_flags(parser)
    parser.add_argument("--once", action="store_true", help="until nothing is due and nothing runs, then end")


SCHEDULE = actions(
    "schedule",
    {
        **{action: word(action) for action in ("add", "list", "next", "pause", "resume", "remove", "history")},
        "run": run,
        "work": lookup(
            "schedule work",
            "Run what is due, in all your projects, until it is stopped. Dials: what a run may have at most.",
            work,
            _once,
        ),
        "install": lookup(
            "schedule install",
            "Set up a systemd user timer that runs what is due each minute.",
            f"{ROOM}.install:install",
        ),
        "uninstall": lookup("schedule uninstall", "Remove the timer.", f"{ROOM}.install:uninstall"),
    },
)
