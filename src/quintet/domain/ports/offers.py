"""What features offer the core and each other, through the registry or as a service of the session; each may be absent.

Answer links that the web surface serves, paired accounts that it lists, what is known beyond the conversation, skills.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.memory.remarks import Remark
from quintet.domain.memory.shown import Lesson, RewoundLesson, RunShown
from quintet.domain.skills.use import BegunBySkill

ANSWER_PATH = "answer"  # that answer links lie below
SKILLS = "skills"  # the name of the service that is both a SkillFinder and SkillNames


class AnswerPage(Struct, frozen=True):
    """What an answer link shows. `answer` is what it would do if it were taken; empty if nothing can be done now."""

    title: str
    lines: tuple[str, ...] = ()
    answer: str = ""
    status: int = 200  # of HTTP


class AnswerPages(Protocol):
    """Whoever has a link needs no token, and can do one thing once: to look changes nothing, to take it does it."""

    def look(self, token: str) -> AnswerPage: ...

    def take(self, token: str) -> AnswerPage: ...

    def close(self) -> None: ...


class RemoteDevice(Struct, frozen=True):
    """An account that gets messages, and whose texts are heard."""

    channel: str
    account: str
    name: str = ""  # anybody can call themselves anything
    paired: str = ""  # when

    @property
    def id(self) -> str:
        return f"{self.channel}/{self.account}"


class RemoteUse(Struct, frozen=True):
    """A session with remote on, in whatever process."""

    tag: str  # as messages name it
    session: str
    project: str


class RemoteDevices(Protocol):
    """Paired accounts, to be listed and revoked. Pairing itself is done at the user's own terminal."""

    def paired(self) -> list[RemoteDevice]: ...

    def sessions(self) -> list[RemoteUse]: ...

    def revoke(self, id: str) -> bool:
        """Whether there was such an account."""

    def close(self) -> None: ...


class Recollection(Protocol):
    async def relevant(self, text: str, budget: int) -> tuple[Remark, ...]:
        """What fits an input, the best first, in at most so many bytes."""


class Lessons(Protocol):
    async def learn(self, shown: RunShown) -> tuple[Lesson, ...]:
        """Keep what may be kept of a run; what is new of it."""

    async def rewound(self, taken: Sequence[str], given: Sequence[str]) -> tuple[RewoundLesson, ...]:
        """A rewind took back the files of what was kept, by its ids, or gave them back; what there is of the former."""


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
