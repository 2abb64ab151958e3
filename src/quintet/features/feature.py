"""The contract of a feature: one value that says what the feature adds to the program.

What it names stands as "module:name", below the feature's own package, and is imported when it is first wanted: a
start pays for no feature that it does not use. A feature is a folder and a line in the registry, or a package of
somebody else's with an entry point in the group `quintet.features`.

Named tuples, since `quintet --help` reads every feature's lines and does without msgspec.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from quintet.package import load

_NOTHING: Mapping[str, str] = MappingProxyType({})


class FeatureCommand(NamedTuple):
    """A slash command of a feature's: what it prints is its answer. It is not to wait for a model."""

    name: str
    usage: str  # as /help shows it
    help: str
    run: str  # an async function from an Opening and the words after the command to a text
    begins: bool = False  # it is for every /A:B, and from the name and the words makes the words a turn begins with
    own_flags: bool = (
        False  # it reads its flags itself: they are among its words, and what is below the line is the last
    )


class FeatureCheck(NamedTuple):
    """Something for the doctor to look at.

    It is quick: only where the look is thorough does it start git, or ask servers of this machine.
    """

    look: str  # a function from a Checkup to what is wrong, a Finding each
    fix: str = ""  # a function from a Checkup to what it has fixed, a line each: `quintet doctor fix` calls it
    kinds: str = ""  # what it may find, a tuple of FindingKind; they stand in the reference


class CliCommand(NamedTuple):
    """`quintet NAME …`."""

    name: str
    run: str  # a function from its arguments to the exit code
    usage: str = ""  # how `quintet --help` shows it


class Feature(NamedTuple):
    name: str
    about: str  # in a few words
    package: str  # the dotted name of the package that the names below stand in
    settings: Mapping[str, str] = _NOTHING  # a table of settings.toml → its Struct
    named: Mapping[str, str] = _NOTHING  # a table of tables that the user names, as [deploy.NAME] → the Struct of each
    tools: tuple[str, ...] = ()  # a ToolSpec each, or a function from the settings to one or to None
    slash: tuple[FeatureCommand, ...] = ()
    commands: tuple[CliCommand, ...] = ()
    parts: Mapping[str, str] = _NOTHING  # an outside part that its tools need → how it is looked for
    checks: tuple[FeatureCheck, ...] = ()
    service: str = ""  # opens what a session holds of it, from an Opening; closed with the session
    board: str = ""  # from its service, or an Opening if it has none, to its rows on the board; asked every second
    subjects: str = ""  # opens more subjects for a review, from an Opening and the project's repository
    offers: Mapping[str, str] = _NOTHING  # a setting of the core's, or a place of the registry's → what there is for it
    executors: str = ""  # opens those who can do a task's work, from an Opening
    observer: str = ""  # what follows a session's events, where something is set in its own tables

    def load(self, name: str) -> Any:
        """What a "module:name" of it stands for."""
        return load(name, self.package)
