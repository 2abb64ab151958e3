"""Skills for the rest of the program: finding one by words, and beginning a turn by one's name.

The session's service `skills` is both, where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.skills.use import BegunBySkill

SKILLS = "skills"  # the name of the service


class SkillFinder(Protocol):
    def matching(self, words: Sequence[str]) -> tuple[str, ...]:
        """The skills that a model may use and that fit the words, each with what it is for, best first."""


class SkillNames(Protocol):
    def usage(self, name: str) -> CommandUsage | None:
        """What the user may type as /NAME; None if there is no such skill."""

    def usages(self) -> tuple[CommandUsage, ...]:
        """All of them, to be offered."""

    async def begin(self, name: str, text: str) -> BegunBySkill:
        """What the turn begins with. UsageError says why none does."""
