"""The inputs that wait, the turn that is under way, and the calls it has made: parts of the session's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import DecodeError, Struct, field, json, structs

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import brief
from quintet.domain.journal.call_events import CallDecided, ToolFinished, ToolStarted
from quintet.domain.journal.reasons import names_a_dial, without_person
from quintet.domain.journal.session_events import (
    CommandRan,
    InputReceived,
    InputRevised,
    InputsHeld,
    InputsReleased,
    InputWithdrawn,
    Noticed,
    RunPaused,
    RunResumed,
    SessionTaken,
    TurnFinished,
    TurnStarted,
)
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.known_addresses import take_in
from quintet.domain.permission.rules import subject_of
from quintet.domain.skills.use import SkillUse
from quintet.domain.turn.delivery import WHOLE_FILE_TOOLS, RanCall
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.reports import Order
from quintet.domain.turn.skipped import SHELL, SkippedCall, allowed_by
from quintet.domain.turn.tool_spec import CallStatus, ShellSeen

RUN_IN_BACKGROUND = "run_in_background"
MOST_COMMANDS = 1000  # whose lines are held
SHELL_ENDED = "SHELL_ENDED"  # code of the notice that a background shell was ended
# What journals say of background shells that were written before it was a field of its own, in two wordings.
_SHELL_STARTED = regex(r"shell (\S+) (?:was|is) started\.")
_SHELL_OVER = regex(r"(?m)^\(exit -?\d+\)$")
_NOTICE_OF_SHELL = regex(r"background shell (\S+) (?:was|is) ended")
_NAMES_SHELL = {"bash_output": "bash_id", "write_to_shell": "shell_id", "kill_shell": "shell_id"}


def skipped_call(event: CallDecided) -> SkippedCall | None:
    """The call, if it was not run because nobody was there to approve it."""
    if event.verdict is not Verdict.ASK or event.person:
        return None
    reason = without_person(event.reason)
    flags = allowed_by(event.effects, event.axes, event.sandbox) if names_a_dial(reason, event.axes) else ""
    return SkippedCall(event.tool, _about(event), reason, event.effects, flags)


def ran_call(started: ToolStarted, ended: ToolFinished, effects: tuple[Effect, ...]) -> RanCall:
    background = RUN_IN_BACKGROUND in started.arguments and _values(started.arguments).get(RUN_IN_BACKGROUND) is True
    idle = started.tool in WHOLE_FILE_TOOLS and not ended.changed
    return RanCall(started.tool, _about(started), effects, ended.status, background, idle)


def _values(arguments: str) -> dict[str, Any]:
    try:
        values = json.decode(arguments)
    except DecodeError:
        return {}
    return values if isinstance(values, dict) else {}


def _about(event: CallDecided | ToolStarted) -> str:
    try:
        values = json.decode(event.arguments)
    except DecodeError:
        return event.arguments
    if not isinstance(values, dict):
        return event.arguments
    if values.get("executor"):
        return str(values["executor"])
    return subject_of(values, (str(values.get("command", "")),) if event.tool == SHELL else ())


class OpenTurn(Struct):
    turn: str
    run: str
    submission: str
    steps: int = 0
    calls: int = 0
    skipped: list[SkippedCall] = field(default_factory=list)
    skills: tuple[SkillUse, ...] = ()  # that it works by
    ran: list[RanCall] = field(default_factory=list)  # also in the interrupted turn that it goes on with


class TurnState(Struct):
    waiting: list[InputReceived] = field(default_factory=list)  # inputs whose turn has not begun
    held: tuple[str, ...] = ()  # of those, by submission, what the user stopped
    open: OpenTurn | None = None
    order: Order | None = None  # the report the newest turn is to leave
    count: int = 0
    last: str = ""  # the newest one that finished
    paused: bool = False
    interrupted: bool = False  # the last turn was cut off and can be resumed
    cut_off: tuple[RanCall, ...] = ()  # what that one had run
    skipped: int = 0  # calls of the newest run that nobody could approve
    run: str = ""  # that run
    takes_back: str = ""  # the command that deletes what was learnt last; empty once it ran
    commands: dict[str, str] = field(default_factory=dict)  # lines of slash commands, by their submissions

    def answered(self, submission: str) -> None:
        """An input that has begun its turn or cycle, or was answered without one, waits no longer."""
        self.waiting = [i for i in self.waiting if i.submission != submission]

    @property
    def following(self) -> InputReceived | None:
        """The input that is to begin next."""
        return next((one for one in self.waiting if one.submission not in self.held), None)

    def begin(self, event: TurnStarted) -> None:
        skills = (event.skill,) if event.skill else ()
        goes_on = self.interrupted and not event.text and event.order is None
        before = list(self.cut_off) if goes_on else []
        self.open = OpenTurn(event.turn, event.run, event.submission, skills=skills, ran=before)
        self.cut_off = tuple(before)
        if event.run != self.run:
            self.run, self.skipped = event.run, 0
        self.answered(event.submission)
        self.order = event.order
        self.count += 1
        self.interrupted = False

    def end(self, event: TurnFinished, *, in_cycle: bool) -> None:
        self.interrupted = event.status == EndStatus.INTERRUPTED
        self.cut_off = tuple(self.open.ran) if self.open and self.interrupted else ()
        self.open = None
        self.last = event.turn
        self.paused = self.paused and in_cycle  # a cycle is held, not a turn of it

    def decided(self, event: CallDecided) -> None:
        if self.open and (call := skipped_call(event)):
            self.open.skipped.append(call)
            self.skipped += 1

    def ran(self, started: ToolStarted, ended: ToolFinished, effects: tuple[Effect, ...]) -> None:
        if self.open:
            self.open.calls += 1
            if ended.status is not CallStatus.INTERRUPTED:  # nothing is known of it
                self.open.ran.append(ran_call(started, ended, effects))

    def forked(self) -> TurnState:
        """What a fork keeps of it: nothing that its parent was in the middle of."""
        return TurnState(count=self.count, last=self.last)


def _command_ran(turns: TurnState, event: CommandRan) -> None:
    turns.answered(event.submission)
    turns.takes_back = "" if event.line == turns.takes_back else turns.takes_back
    turns.commands[event.submission] = event.line
    if len(turns.commands) > MOST_COMMANDS:
        del turns.commands[next(iter(turns.commands))]


def _paused(turns: TurnState, event: RunPaused) -> None:
    turns.paused = True


def _resumed(turns: TurnState, event: RunResumed) -> None:
    turns.paused = False


def _revised(turns: TurnState, event: InputRevised) -> None:
    turns.waiting = [
        structs.replace(one, text=event.text) if one.submission == event.submission else one for one in turns.waiting
    ]


def _withdrawn(turns: TurnState, event: InputWithdrawn) -> None:
    turns.answered(event.submission)


def _held(turns: TurnState, event: InputsHeld) -> None:
    turns.held = event.submissions


def _released(turns: TurnState, event: InputsReleased) -> None:
    turns.held = ()


TURN_FOLDS: dict[type, Callable[[TurnState, Any], None]] = {
    CommandRan: _command_ran,
    InputRevised: _revised,
    InputWithdrawn: _withdrawn,
    InputsHeld: _held,
    InputsReleased: _released,
    RunPaused: _paused,
    RunResumed: _resumed,
}


class CallState(Struct):
    running: dict[str, ToolStarted] = field(default_factory=dict)  # started, not finished
    effects: dict[str, tuple[Effect, ...]] = field(default_factory=dict)  # of calls not finished yet
    last_result: str = ""  # of the newest finished call
    addresses: set[str] = field(default_factory=set)  # that somebody else than the model wrote
    shells: dict[str, str] = field(default_factory=dict)  # background shells, with what they run; as far as was told

    def finish(self, event: ToolFinished) -> tuple[ToolStarted | None, tuple[Effect, ...]]:
        """The call as it was started, and its effects."""
        self.last_result = event.content
        started = self.running.pop(event.call, None)
        if started and event.status is CallStatus.OK:
            seen = event.shell or _earlier_shell(started.tool, started.arguments, event.content)
            if seen and not seen.running:
                self.shells.pop(seen.name, None)
            elif seen and started.tool == SHELL:
                self.shells |= {seen.name: brief(started.arguments)}
        return started, self.effects.pop(event.call, ())

    def settle(self) -> None:
        self.running = {}
        self.effects = {}

    def know(self, text: str, *, bare: bool = False, tool: str = "", asked: str = "", page: str = "") -> None:
        """Take in the addresses in a text that is not the model's; `bare`: also those without a scheme."""
        if ":" in text or (bare and "." in text):
            take_in(self.addresses, text, bare=bare, tool=tool, asked=asked, page=page)


def _started(calls: CallState, event: ToolStarted) -> None:
    calls.running[event.call] = event


def _earlier_shell(tool: str, arguments: str, content: str) -> ShellSeen | None:
    """The background shell of a call in an earlier journal, from what the model was told."""
    over = tool == "kill_shell" or _SHELL_OVER.search(content) is not None
    if tool == SHELL and (named := _SHELL_STARTED.match(content)):
        return ShellSeen(named[1], running=not over)
    if word := _NAMES_SHELL.get(tool):
        return ShellSeen(str(json.decode(arguments).get(word)), running=not over)
    return None


def _earlier_end(notice: str) -> str:
    """The background shell that a notice of an earlier journal says was ended; empty if none."""
    named = _NOTICE_OF_SHELL.match(notice)
    return named[1] if named else ""


def noticed(calls: CallState, event: Noticed) -> None:
    if event.code == SHELL_ENDED:
        calls.shells.pop(event.shell or _earlier_end(event.text), None)


def _taken(calls: CallState, event: SessionTaken) -> None:
    calls.shells = {}  # they ended with the process that had them


CALL_FOLDS: dict[type, Callable[[CallState, Any], None]] = {
    ToolStarted: _started,
    SessionTaken: _taken,
}
