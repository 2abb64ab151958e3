"""`quintet memory`: the words that every surface has, and what only a terminal has: export and import."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from quintet.cli.parsing import Command, actions, lookup
from quintet.package import load

ROOM = "features.memory"


def word(action: str) -> Command:
    return lambda arguments: int(load(f"{ROOM}.commands:word")(action, arguments))


def _exports(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", default="", help="where to write it (default: print it)")


def _imports(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a page as `quintet memory export` writes it")


def _export(words: Namespace) -> int:
    return int(load(f"{ROOM}.commands:export")(words))


def _import(words: Namespace) -> int:
    return int(load(f"{ROOM}.commands:take_in")(words))


MEMORY = actions(
    "memory",
    {
        **{action: word(action) for action in ("list", "show", "add", "edit", "forget", "on", "off")},
        "export": lookup("memory export", "Memories as a Markdown page that can be committed.", _export, _exports),
        "import": lookup("memory import", "Take in the memories of a page.", _import, _imports),
    },
)
