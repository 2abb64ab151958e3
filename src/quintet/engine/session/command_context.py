"""What a slash command works at and answers with.

A handler is a plain function from the desk (what the session is and can do) and the parsed line to an `Outcome`: text
to show, events to write, and what to do once they are durable. Commands never wait for a model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct, field

from quintet.domain.dials.axes import Surface
from quintet.domain.dials.transitions import Activity
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import Event, QuestionAnswered, QuestionAsked
from quintet.domain.journal.state import SessionState
from quintet.domain.turn.reports import Order
from quintet.engine.session.core import Core


class Desk(Protocol):
    """What a command may see and do."""

    core: Core
    surface: Surface  # of whoever gave the command

    @property
    def state(self) -> SessionState: ...

    @property
    def busy(self) -> bool:
        """Whether a turn is under way, or about to be."""

    @property
    def activity(self) -> Activity: ...

    def let_go(self) -> None:
        """Let a paused turn go on."""

    def hold(self) -> None:
        """Hold the turn at its next step."""

    async def stop(self) -> None:
        """End the current turn as cancelled."""

    async def continue_turn(self) -> None:
        """Begin a turn that goes on where an interrupted one stopped."""

    async def abort_tool(self) -> None:
        """Interrupt the running tool, if the settings let a turned dial do so."""

    async def fork(self, at: str = "") -> str:
        """Fork the session after a turn of it, by number, or after its last one; returns the new session's id."""

    async def settled(self) -> None:
        """Wait until what the last calls changed is on record."""

    async def note(self, event: Event) -> None:
        """Put an event on record now, before the command goes on."""

    def follow(self, question: QuestionAsked, then: Callable[[QuestionAnswered], list[Event] | None]) -> None:
        """What follows from the answer to a question; with None nothing does, and what it was to begin does not."""

    def skip_wait(self) -> bool:
        """End the wait before something is tried again; False if nothing waits."""

    def go_deep_if_told(self, question: QuestionAsked) -> None:
        """When the question is answered `d`, turn the model mode to deep."""


class Beginning(Struct, frozen=True):
    """The input of a turn that a command begins, and the report it wants of it."""

    text: str
    order: Order


class Begins(Struct, frozen=True):
    """The turn that an input to an agent begins."""

    text: str  # what the model is told; empty where the run goes on by itself
    run: str = ""  # the run it belongs to
    own: tuple[str, str] | None = None  # a call of the person's own: tool and arguments


class CommandOutcome(Struct):
    text: str = ""
    events: list[Event] = field(default_factory=list)
    then: Callable[[], Awaitable[None]] | None = None
    data: dict[str, Any] = field(default_factory=dict)
    begins: Beginning | None = None  # once what the command asks is answered


Handler = Callable[[Desk, CommandLine], "CommandOutcome | Awaitable[CommandOutcome]"]


class SlashCommand(Struct, frozen=True):
    name: str
    usage: str
    help: str
    handler: Handler
    valued: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()
    prose: bool = False  # its line is a sentence, not words and flags


def after(first: Callable[[], Awaitable[None]] | None, act: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def then() -> None:
        if first:
            await first()
        act()

    return then
