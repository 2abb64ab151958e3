"""The inputs that wait, the turn that is under way, and the calls it has made: parts of the session's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from quintet.domain.journal.call_events import CallDecided, ToolFinished, ToolStarted
from quintet.domain.journal.session_events import (
    CommandRan,
    InputReceived,
    RunPaused,
    RunResumed,
    TurnFinished,
    TurnStarted,
)
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.known_addresses import take_in
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.reports import Order


class OpenTurn(Struct):
    turn: str
    run: str
    submission: str
    steps: int = 0


class TurnState(Struct):
    waiting: list[InputReceived] = field(default_factory=list)  # inputs whose turn has not begun
    open: OpenTurn | None = None
    order: Order | None = None  # the report the newest turn is to leave
    count: int = 0
    last: str = ""  # the newest one that finished
    paused: bool = False
    interrupted: bool = False  # the last turn was cut off and can be resumed

    def answered(self, submission: str) -> None:
        """An input that has begun its turn or cycle, or was answered without one, waits no longer."""
        self.waiting = [i for i in self.waiting if i.submission != submission]

    def begin(self, event: TurnStarted) -> None:
        self.open = OpenTurn(event.turn, event.run, event.submission)
        self.answered(event.submission)
        self.order = event.order
        self.count += 1
        self.interrupted = False

    def end(self, event: TurnFinished, *, in_cycle: bool) -> None:
        self.open = None
        self.last = event.turn
        self.paused = self.paused and in_cycle  # a cycle is held, not a turn of it
        self.interrupted = event.status == EndStatus.INTERRUPTED

    def forked(self) -> TurnState:
        """What a fork keeps of it: nothing that its parent was in the middle of."""
        return TurnState(count=self.count, last=self.last)


def _command_ran(turns: TurnState, event: CommandRan) -> None:
    turns.answered(event.submission)


def _paused(turns: TurnState, event: RunPaused) -> None:
    turns.paused = True


def _resumed(turns: TurnState, event: RunResumed) -> None:
    turns.paused = False


TURN_FOLDS: dict[type, Callable[[TurnState, Any], None]] = {
    CommandRan: _command_ran,
    RunPaused: _paused,
    RunResumed: _resumed,
}


class CallState(Struct):
    running: dict[str, ToolStarted] = field(default_factory=dict)  # started, not finished
    effects: dict[str, tuple[Effect, ...]] = field(default_factory=dict)  # of calls not finished yet
    last_result: str = ""  # of the newest finished call
    addresses: set[str] = field(default_factory=set)  # that somebody else than the model wrote

    def finish(self, event: ToolFinished) -> tuple[ToolStarted | None, tuple[Effect, ...]]:
        """The call as it was started, and its effects."""
        self.last_result = event.content
        return self.running.pop(event.call, None), self.effects.pop(event.call, ())

    def settle(self) -> None:
        self.running = {}
        self.effects = {}

    def know(self, text: str, *, bare: bool = False, tool: str = "", asked: str = "") -> None:
        """Take in the addresses in a text that is not the model's; `bare`: also those without a scheme."""
        if ":" in text or (bare and "." in text):
            take_in(self.addresses, text, bare=bare, tool=tool, asked=asked)


def _decided(calls: CallState, event: CallDecided) -> None:
    calls.effects[event.call] = event.effects


def _started(calls: CallState, event: ToolStarted) -> None:
    calls.running[event.call] = event


CALL_FOLDS: dict[type, Callable[[CallState, Any], None]] = {CallDecided: _decided, ToolStarted: _started}
