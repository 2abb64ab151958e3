"""Which names are those of secrets, and which commands the user lets have one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase, translate
from functools import cache

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.tool_spec import Touch

_SUSPECT = regex(r"(?i)KEY|TOKEN|SECRET|PASS|PWD|CRED|AUTH|COOKIE|SESSION|PRIVATE|DSN|PAT$")


def is_secret_name(name: str, patterns: Iterable[str]) -> bool:
    return bool(_any_of(tuple(patterns)).match(name.upper()))


def may_be_secret(name: str, patterns: Iterable[str]) -> bool:
    """Whether a variable of this name may be one: what is handed to a stranger is looked at more strictly."""
    return is_secret_name(name, patterns) or bool(_SUSPECT.search(name))


def given_to(server: str, variable: str, variables: Iterable[str]) -> bool:
    """Whether the user lets an MCP server of a project have a variable, by lines such as "docs: GH_TOKEN"."""
    return (server, variable) in {tuple(part.strip() for part in line.split(":", 1)) for line in variables}


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.upper()) for pattern in patterns) or r"(?!)")


def exposures(settings: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The commands that get each secret, from lines such as "GH_TOKEN: gh *"."""
    found: dict[str, tuple[str, ...]] = {}
    for line in settings:
        name, colon, command = line.partition(":")
        if colon and name.strip() and command.strip():
            found[name.strip()] = (*found.get(name.strip(), ()), command.strip())
    return found


def granted(touch: Touch, exposed: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The secrets a call gets: those that every command of its lines may have.

    A line that is not understood, or destroys, gets none: nobody knows all that it would run.
    """
    if not exposed or not touch.commands or Effect.DESTROY in touch.effects:
        return ()
    return tuple(
        name
        for name, patterns in sorted(exposed.items())
        if all(any(fnmatchcase(command, pattern) for pattern in patterns) for command in touch.commands)
    )
