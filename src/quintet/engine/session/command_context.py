"""What a slash command works with and answers with.

A handler is a plain function from the context (what the session is) and the parsed line to an outcome: text to show,
events to write, and what is to become of the turn once they are durable. Commands never wait for a model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from quintet.domain.dials.axes import Surface
from quintet.domain.dials.transitions import Activity
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import Event
from quintet.domain.journal.state import SessionState
from quintet.domain.skills.use import SkillUse
from quintet.domain.turn.messages import Request
from quintet.domain.turn.reports import Order
from quintet.engine.checkpoints.keeper import CheckpointKeeper
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import Questions
from quintet.engine.turn.model_request import Asker

if TYPE_CHECKING:
    from quintet.engine.session.input_runner import InputRunner


class CommandContext:
    """What a command may see and do."""

    def __init__(
        self,
        core: Core,
        journal: Journal,
        questions: Questions,
        keeper: CheckpointKeeper,
        inputs: InputRunner,
        surface: Surface,
    ) -> None:
        self.core = core
        self.questions = questions
        self.surface = surface  # of whoever gave the command
        self.interrupted = False  # whether the command before this one was
        self._journal = journal
        self._keeper = keeper
        self._inputs = inputs

    @property
    def state(self) -> SessionState:
        return self._journal.state

    @property
    def busy(self) -> bool:
        """Whether a turn is under way, or about to be."""
        return self._inputs.busy

    @property
    def activity(self) -> Activity:
        return self._inputs.activity

    def skip_wait(self) -> bool:
        """End the wait before something is tried again; False if nothing waits."""
        return self._inputs.skip_wait()

    def next_request(self) -> Request:
        """The request that acting would make now, with the model in use."""
        return Asker(self.core, self._journal).as_acting()

    async def settled(self) -> None:
        """Wait until what the last calls changed is on record."""
        await self._keeper.settle()

    async def note(self, event: Event) -> None:
        """Put an event on record now, before the command goes on."""
        await self._journal.append(event)


class TurnEffect(StrEnum):
    """What a command does to the turn that is under way."""

    HOLD = "hold"  # at its next step; at once, before the command is on record
    LET_GO = "let_go"  # a paused one
    STOP = "stop"  # as cancelled
    CONTINUE = "continue"  # begin one that goes on where an interrupted one stopped
    ABORT_TOOL = "abort_tool"  # if the settings let a turned dial do so


class BeginWork(Struct, frozen=True):
    """The input of a turn that a command begins, and the report it wants of it, if any."""

    text: str
    order: Order | None = None
    quoted: str = ""  # somebody else's words that come with it
    skill: SkillUse | None = None  # that the user begins it by


class CommandOutcome(Struct):
    text: str = ""
    events: list[Event] = field(default_factory=list)
    effects: list[TurnEffect] = field(default_factory=list)
    begins: BeginWork | None = None  # once what the command asks is answered
    data: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False  # somebody stopped it before it was done


Handler = Callable[[CommandContext, CommandLine], "CommandOutcome | Awaitable[CommandOutcome]"]


class Below(StrEnum):
    """What the lines below a command's first are."""

    REFUSED = "refused"
    OWN = "own"  # a part of it
    NEXT = "next"  # the input after it


class SlashCommand(Struct, frozen=True):
    name: str
    usage: str
    help: str
    handler: Handler
    valued: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()
    prose: bool = False  # its line is a sentence, not words and flags
    own_flags: bool = False  # it reads its flags itself
    below: Below = Below.REFUSED  # a sentence goes on below, and so do the words of one that reads its flags itself
