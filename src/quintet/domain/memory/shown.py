"""What a run shows of itself when it is over: all that may become a memory, and nothing that somebody else wrote.

Neither what tools gave back nor what the model answered is among it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.turn.delivery import DeliveryState, RanCall
from quintet.domain.turn.messages import EndStatus

FORGET = "/memory forget "


class TaskShown(Struct, frozen=True):
    """A task that was verified and is done."""

    id: str
    title: str  # empty, unless the user accepted the plan that it is of
    by: str  # who verified it
    command: str = ""  # its own, that passed
    files: tuple[str, ...] = ()  # that its unit changed


class PlanShown(Struct, frozen=True):
    """A plan that the user accepted."""

    milestone: str
    titles: tuple[str, ...]


class RunShown(Struct, frozen=True):
    """A turn that has ended, a task that is done, or a plan that was accepted."""

    session: str
    turn: str = ""
    text: str = ""  # the user's own words that it began with, never those of a page or a server
    asked: str = ""  # what the model had asked, if the text answers it
    status: EndStatus = EndStatus.DONE
    delivery: DeliveryState = DeliveryState.UNCHECKED
    calls: tuple[RanCall, ...] = ()
    skipped: int = 0  # calls that nobody could approve
    files: tuple[str, ...] = ()  # that it changed
    task: TaskShown | None = None
    plan: PlanShown | None = None


class Lesson(Struct, frozen=True):
    """What was kept of a run."""

    id: str
    text: str


class RewoundLesson(Struct, frozen=True):
    """What was kept of a run whose files were taken back."""

    id: str
    text: str
    holds: bool

    @property
    def line(self) -> str:
        return f"{self.id} {on_one_line(self.text)} · {FORGET}{self.id}"


def learnt_line(lessons: Sequence[Lesson]) -> str:
    """What the user is told at the end of a run."""
    kept = "; ".join(f"{one.id} {on_one_line(one.text)}" for one in lessons)
    return f"learnt   {kept} · {forgetting(lessons)}"


def forgetting(lessons: Sequence[Lesson]) -> str:
    """The command that deletes them."""
    return f"{FORGET}{' '.join(one.id for one in lessons)}"


def forgotten_by(command: str) -> list[str]:
    """The ids of those that a command as `forgetting` gives it deletes."""
    return command.removeprefix(FORGET).split() if command.startswith(FORGET) else []
