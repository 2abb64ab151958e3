"""Which names are those of secrets, and which commands the user lets have one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase, translate
from functools import cache

from quintet.domain.grants import Effect
from quintet.domain.toolspec import Touch


def is_secret_name(name: str, patterns: Iterable[str]) -> bool:
    return bool(_any_of(tuple(patterns)).match(name.upper()))


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
