"""`quintet secrets`: the names of what is kept back, and secrets of your own in a keyring or a file. Never a value."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from quintet.adapters.files.paths import locate
from quintet.adapters.secrets import store as secret_store
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import UsageError
from quintet.surfaces.tables import say, say_json, say_table
from quintet.surfaces.typed_line import typed_unseen

LONGEST = 100_000


def secrets_list(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    found = Vault(places, config.load(places).settings).names()
    if arguments.json:
        say_json(found)
    elif not found:
        say(["no secrets found: `quintet secrets set NAME` stores one"])
    else:
        rows = [
            (s.name, s.source, "yes" if s.redacted else "too short", ", ".join(s.exposed) or "no command")
            for s in found
        ]
        say_table(rows, heading=("NAME", "FROM", "HIDDEN", "EXPOSED TO"))
    return 0


def secrets_set(arguments: Namespace) -> int:
    if not re.fullmatch(r"[A-Za-z_]\w*", arguments.name, re.ASCII):
        raise UsageError(f"{arguments.name}: not a variable name; an example is DEPLOY_TOKEN")
    value = _value(arguments.name)
    where = secret_store.keep(locate(arguments.directory), arguments.name, value, arguments.where or "auto")
    _said(arguments, f"{arguments.name} is stored in {where}", where)
    return 0


def secrets_remove(arguments: Namespace) -> int:
    where = secret_store.forget(locate(arguments.directory), arguments.name)
    _said(arguments, f"{arguments.name} was removed from {where}", where)
    return 0


def _said(arguments: Namespace, text: str, where: str) -> None:
    told: dict[str, Any] = {"name": arguments.name, "where": where}
    say_json(told) if arguments.json else say([text])


def _value(name: str) -> str:
    """Typed unseen, or piped in; never an argument, which everybody on the machine can read."""
    if sys.stdin is None:
        raise UsageError(f"pipe in the value of {name}")
    if sys.stdin.isatty():
        value = typed_unseen(f"{name}: ")
    else:
        value = sys.stdin.read(LONGEST + 1)
    value = value.rstrip("\r\n")
    if not value or len(value) > LONGEST or "\0" in value:
        raise UsageError(f"{name} needs a value of 1 to {LONGEST} characters")
    return value


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a variable name: letters, digits and _")


def _where(parser: ArgumentParser) -> None:
    _name(parser)
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--keyring", action="store_const", const="keyring", dest="where", help="store it only there")
    place.add_argument(
        "--file", action="store_const", const="file", dest="where", help="use the file even if there is a keyring"
    )


SECRETS = actions(
    "secrets",
    {
        "list": lookup("secrets list", "List the known secrets by name, and the commands that get them.", secrets_list),
        "set": lookup(
            "secrets set", "Store a secret; the value is asked for, or read from stdin.", secrets_set, _where
        ),
        "remove": lookup("secrets remove", "Remove a stored secret.", secrets_remove, _name),
    },
)
