"""`quintet secrets`: the names of what is kept back, and secrets of your own in a keyring or a file. Never a value."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from getpass import getpass
from typing import Any

from quintet.adapters.files.paths import locate
from quintet.adapters.secrets import store as secret_store
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import UsageError
from quintet.surfaces.tables import say, say_json, say_table

LONGEST = 100_000


def secrets_list(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    found = Vault(places, config.load(places).settings).names()
    if arguments.json:
        say_json(found)
    elif not found:
        say(["no secrets found: `quintet secrets set NAME` keeps one"])
    else:
        rows = [
            (s.name, s.source, "yes" if s.redacted else "too short", ", ".join(s.exposed) or "no command")
            for s in found
        ]
        say_table(rows, heading=("NAME", "FROM", "HIDDEN", "EXPOSED TO"))
    return 0


def secrets_set(arguments: Namespace) -> int:
    if not re.fullmatch(r"[A-Za-z_]\w*", arguments.name, re.ASCII):
        raise UsageError(f"{arguments.name}: not the name of a variable, such as DEPLOY_TOKEN")
    value = _value(arguments.name)
    where = secret_store.keep(locate(arguments.directory), arguments.name, value, arguments.where or "auto")
    _said(arguments, f"{arguments.name} is kept in {where}", where)
    return 0


def secrets_remove(arguments: Namespace) -> int:
    where = secret_store.forget(locate(arguments.directory), arguments.name)
    _said(arguments, f"{arguments.name} is gone from {where}", where)
    return 0


def _said(arguments: Namespace, text: str, where: str) -> None:
    told: dict[str, Any] = {"name": arguments.name, "where": where}
    say_json(told) if arguments.json else say([text])


def _value(name: str) -> str:
    """Typed unseen, or piped in; never an argument, which everybody on the machine can read."""
    if sys.stdin is None:
        raise UsageError(f"pipe the value of {name} in")
    if sys.stdin.isatty():
        value = getpass(f"{name}: ")
    else:
        value = sys.stdin.read(LONGEST + 1)
    value = value.rstrip("\r\n")
    if not value or len(value) > LONGEST or "\0" in value:
        raise UsageError(f"a value of 1 to {LONGEST} characters is expected for {name}")
    return value


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="as a variable is called: letters, digits and _")


def _where(parser: ArgumentParser) -> None:
    _name(parser)
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--keyring", action="store_const", const="keyring", dest="where", help="nowhere else")
    place.add_argument("--file", action="store_const", const="file", dest="where", help="though there is a keyring")


SECRETS = actions(
    "secrets",
    {
        "list": lookup("secrets list", "The secrets known here, by name, and which commands get them.", secrets_list),
        "set": lookup("secrets set", "Keep a secret; its value is asked for, or read from stdin.", secrets_set, _where),
        "remove": lookup("secrets remove", "Forget a secret that was set.", secrets_remove, _name),
    },
)
