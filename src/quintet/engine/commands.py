"""The slash-command table: one row a command, the same on every surface.

A handler is a plain function from the desk (what the session is and can do) and the parsed line to an `Outcome`: text
to show, events to write, and what to do once they are durable. Commands never wait for a model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct, field, to_builtins

from quintet.domain import badge, command_line
from quintet.domain.axes import AXIS_WORDS, AxesChange, ModelMode, RunControl, WorkMode, merge, parse_axis
from quintet.domain.command_line import CommandLine
from quintet.domain.describe import compacted
from quintet.domain.errors import UsageError
from quintet.domain.nearest import did_you_mean, nearest
from quintet.domain.protocol import (
    Choice,
    DialsTurned,
    Event,
    ModelChosen,
    QuestionAsked,
    RunPaused,
    RunResumed,
)
from quintet.domain.state import SessionState
from quintet.domain.steering import Activity, Scope
from quintet.engine import compaction, dials
from quintet.engine.core import Core


class Desk(Protocol):
    """What a command may see and do."""

    core: Core

    @property
    def state(self) -> SessionState: ...

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

    async def fork(self) -> str:
        """Fork the session after its last finished turn; returns the new session's id."""

    def go_deep_if_told(self, question: QuestionAsked) -> None:
        """When the question is answered `d`, turn the model mode to deep."""


class Outcome(Struct):
    text: str = ""
    events: list[Event] = field(default_factory=list)
    then: Callable[[], Awaitable[None]] | None = None
    data: dict[str, Any] = field(default_factory=dict)


Handler = Callable[[Desk, CommandLine], "Outcome | Awaitable[Outcome]"]


class Command(Struct, frozen=True):
    name: str
    usage: str
    help: str
    handler: Handler
    valued: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()


AXIS_VALUED = frozenset(AXIS_WORDS)
AXIS_SWITCHES = frozenset({"autonomous"})


# ── dials


def _axis_command(word: str) -> Handler:
    def handler(desk: Desk, line: CommandLine) -> Outcome:
        if not line.words:
            return _where_it_stands(desk, word)
        changes = [parse_axis(word, line.words[0]), *_flag_changes(line)]
        return turn_dials(desk, merge(changes), _scope(line.words[1:]), f"/{line.name}")

    return handler


def _fixed(change: AxesChange) -> Handler:
    def handler(desk: Desk, line: CommandLine) -> Outcome:
        return turn_dials(desk, merge([change, *_flag_changes(line)]), _scope(line.words), f"/{line.name}")

    return handler


def _steer(desk: Desk, line: CommandLine) -> Outcome:
    if len(line.words) < 2:
        raise UsageError("/steer AXIS VALUE [SCOPE], for example /steer mode review after-current-unit")
    axis, value, *scope = line.words
    if axis not in AXIS_WORDS:
        raise UsageError(f'axis "{axis}": not one of {", ".join(AXIS_WORDS)}.{did_you_mean(axis, AXIS_WORDS)}')
    return turn_dials(desk, parse_axis(axis, value), _scope(tuple(scope)), "/steer")


def _next(desk: Desk, line: CommandLine) -> Outcome:
    outcome = turn_dials(desk, AxesChange(run_control=RunControl.ASSISTED), Scope.NOW, "/next")
    if desk.state.paused:
        outcome.events.append(RunResumed(reason="/next"))
        outcome.then = _after(outcome.then, desk.let_go)
    return outcome


def turn_dials(desk: Desk, change: AxesChange, scope: Scope, reason: str) -> Outcome:
    state = desk.state
    event = dials.turn(state, dials.new(desk.core.ids, change, scope, reason), desk.activity)
    if not isinstance(event, DialsTurned):
        wanted = badge.full(change.applied_to(state.axes))
        waits = "when the tool that is running ends" if scope is Scope.NOW else str(scope)
        then = desk.abort_tool if scope is Scope.NOW else None
        return Outcome(f"{wanted}   waits: {waits}", [event], then, {"pending": event.transition})
    outcome = Outcome(badge.full(event.after), [event], data={"axes": to_builtins(event.after)})
    if event.after == event.before:
        outcome.text += "   (as it was)"
    entered_review = event.after.work_mode is WorkMode.REVIEW and event.before.work_mode is not WorkMode.REVIEW
    if entered_review and event.after.model_mode is not ModelMode.DEEP:
        _offer_deep(desk, event, outcome)
    return outcome


def _offer_deep(desk: Desk, event: DialsTurned, outcome: Outcome) -> None:
    """Review wants a reasoning model: ask once, change nothing unasked."""
    if not desk.core.person:
        outcome.text += (
            f"\nReview is best at model mode deep; nobody is here to ask, so it goes on at {event.after.model_mode}."
        )
        return
    question = QuestionAsked(
        question=desk.core.ids.new("q"),
        kind="choose",
        text=f"Review is best at model mode deep; this is {event.after.model_mode}. Go deep?",
        choices=(Choice("d", "go deep"), Choice("g", f"go on at {event.after.model_mode}")),
    )
    outcome.events.append(question)
    desk.go_deep_if_told(question)


def _flag_changes(line: CommandLine) -> list[AxesChange]:
    changes = [parse_axis(word, str(line.flags[word])) for word in AXIS_WORDS if word in line.flags]
    if line.flags.get("autonomous"):
        changes.append(AxesChange(run_control=RunControl.AUTONOMOUS))
    return changes


def _scope(words: tuple[str, ...]) -> Scope:
    if not words:
        return Scope.NOW
    if len(words) > 1:
        raise UsageError(f"too many words: {' '.join(words)}")
    try:
        return Scope(words[0].lower())
    except ValueError:
        choices = [str(scope) for scope in Scope]
        raise UsageError(
            f'scope "{words[0]}": not one of {", ".join(choices)}.{did_you_mean(words[0], choices)}'
        ) from None


def _where_it_stands(desk: Desk, word: str) -> Outcome:
    choices = " ".join(AXIS_WORDS[word])
    return Outcome(f"{badge.full(desk.state.axes)}\n/{word} takes one of: {choices}")


# ── the run


def _pause(desk: Desk, line: CommandLine) -> Outcome:
    if desk.state.turn is None:
        raise UsageError("nothing is running")
    if desk.state.paused:
        return Outcome("already paused; /resume goes on")
    desk.hold()
    return Outcome("paused after the current step; /resume goes on", [RunPaused(reason="/pause")])


def _resume(desk: Desk, line: CommandLine) -> Outcome:
    if desk.state.paused:
        turn = desk.state.turn.turn if desk.state.turn else ""
        return Outcome("goes on", [RunResumed(reason="/resume")], _after(None, desk.let_go), {"turn": turn})
    if desk.state.interrupted and desk.state.turn is None:
        return Outcome("goes on where it was interrupted", then=desk.continue_turn, data={"turn": "next"})
    raise UsageError("nothing is paused or interrupted")


def _stop(desk: Desk, line: CommandLine) -> Outcome:
    if desk.state.turn is None and not desk.state.pending:
        raise UsageError("nothing is running")
    dropped = dials.drop_all(desk.state, "/stop")
    said = f"; {len(dropped)} waiting transition{'s'[: len(dropped) != 1]} dropped" if dropped else ""
    return Outcome(f"stopped{said}", dropped, desk.stop)


# ── the session


def _model(desk: Desk, line: CommandLine) -> Outcome:
    names = desk.core.model_names()
    if not line.words:
        used = desk.core.route(desk.state.axes, desk.state.model)
        return Outcome(f"{used} is in use. /model takes one of: {', '.join(names)}, or auto for the routing table")
    name = line.words[0]
    if name != "auto" and name not in names:
        raise UsageError(f'model "{name}": not one of {", ".join(names)}.{did_you_mean(name, names)}')
    chosen = "" if name == "auto" else name
    return Outcome(
        f"model {name}" if chosen else f"model by model mode: {desk.core.route(desk.state.axes, '')}",
        [ModelChosen(name=chosen)],
    )


def _status(desk: Desk, line: CommandLine) -> Outcome:
    state = desk.state
    rows = [
        ("session", f"{state.session}  {state.status}"),
        ("axes", badge.full(state.axes, paused=state.paused)),
        ("model", desk.core.route(state.axes, state.model)),
        ("sandbox", str(desk.core.toolbox.sandbox)),
        ("turns", f"{state.turns}, {state.usage.input_tokens} tokens in, {state.usage.output_tokens} out"),
        ("cost", f"{state.cost:.4f}"),
    ]
    rows += [("pending", f"{badge.full(t.change.applied_to(state.axes))}  {t.scope}") for t in state.pending]
    return Outcome("\n".join(f"{name:<9}{value}" for name, value in rows))


def _cost(desk: Desk, line: CommandLine) -> Outcome:
    usage = desk.state.usage
    return Outcome(
        f"{desk.state.cost:.4f}   {usage.input_tokens} tokens in ({usage.cached_tokens} cached), "
        f"{usage.output_tokens} out, {desk.state.turns} turns"
    )


async def _fork(desk: Desk, line: CommandLine) -> Outcome:
    forked = await desk.fork()
    return Outcome(f"forked as {forked}; open it with: quintet --resume {forked}", data={"session": forked})


def _compact(desk: Desk, line: CommandLine) -> Outcome:
    event = compaction.by_rules(desk.core, desk.state, "/compact")
    if event is None:
        held = len(desk.state.messages)
        return Outcome(
            f"nothing to compact: {held} message{'s'[: held != 1]} in the conversation, and all of them stay"
        )
    return Outcome(f"compacted {compacted(event)}", [event], data={"compacted": event.kept + 1})


def _settings(desk: Desk, line: CommandLine) -> Outcome:
    return Outcome(desk.core.settings_text())


def _help(desk: Desk, line: CommandLine) -> Outcome:
    if line.words:
        command = find(line.words[0].lstrip("/"))
        return Outcome(f"{command.usage}\n{command.help}")
    width = max(len(command.name) for command in TABLE)
    lines = [f"/{command.name:<{width}}  {command.help}" for command in TABLE]
    return Outcome(
        "\n".join([*lines, "", "/help COMMAND shows its arguments. A line that begins with ! is run by the shell."])
    )


def _quit(desk: Desk, line: CommandLine) -> Outcome:
    return Outcome("bye; nothing is lost, `quintet --resume` comes back here", data={"quit": True})


def _after(first: Callable[[], Awaitable[None]] | None, act: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def then() -> None:
        if first:
            await first()
        act()

    return then


_FLAGS = "[--autonomous] [--permission-profile P] [--model-mode M] [SCOPE]"


def _dial(name: str, usage: str, about: str, handler: Handler) -> Command:
    return Command(name, usage, about, handler, AXIS_VALUED, AXIS_SWITCHES)


TABLE: tuple[Command, ...] = (
    _dial("mode", f"/mode chat|plan|build|review|repair|research {_FLAGS}", "what kind of work", _axis_command("mode")),
    _dial("control", "/control manual|assisted|autonomous [SCOPE]", "who advances the loop", _axis_command("control")),
    _dial(
        "permission-profile",
        "/permission-profile restricted|normal|trusted|unrestricted [SCOPE]",
        "what may proceed unasked",
        _axis_command("permission-profile"),
    ),
    _dial("model-mode", "/model-mode fast|smart|deep [SCOPE]", "speed, cost, reasoning", _axis_command("model-mode")),
    _dial(
        "autonomous",
        "/autonomous [SCOPE]",
        "go on until done, blocked or a limit (/control autonomous)",
        _fixed(AxesChange(run_control=RunControl.AUTONOMOUS)),
    ),
    Command("next", "/next", "one unit, then pause (/control assisted)", _next),
    Command(
        "steer",
        "/steer AXIS VALUE [now|after-current-tool|after-current-unit|next-milestone|for-next-unit]",
        "turn a dial at a chosen moment",
        _steer,
    ),
    Command("pause", "/pause", "hold the run at its next step, keep everything", _pause),
    Command("resume", "/resume", "go on after /pause or an interrupt", _resume),
    Command("stop", "/stop", "end the run as cancelled, drop waiting transitions", _stop),
    Command("model", "/model [NAME|auto]", "choose a model for this session", _model),
    Command("status", "/status", "where this session stands", _status),
    Command("cost", "/cost", "tokens and money so far", _cost),
    Command("fork", "/fork", "a new session that begins with this one's finished turns", _fork),
    Command(
        "compact", "/compact", "put a summary in the place of the older messages; your last requests stay", _compact
    ),
    Command("settings", "/settings", "every setting, and where it came from", _settings),
    Command("help", "/help [COMMAND]", "this list", _help),
    Command("quit", "/quit", "leave", _quit),
)
_BY_NAME = {command.name: command for command in TABLE}


def find(name: str) -> Command:
    command = _BY_NAME.get(name)
    if command is None:
        close = nearest(name, _BY_NAME)
        listed = ", ".join(f"/{n}" for n in close)
        raise UsageError(f"/{name} is not a command.{f' Nearest: {listed}.' if close else ''} /help lists them all.")
    return command


def parse(text: str) -> tuple[Command, CommandLine]:
    """The command a text's first line names, parsed by that command's own flags."""
    name = command_line.command_name(text)
    if name is None:
        raise UsageError(f"not a command: {text[:40]}")
    command = find(name)
    return command, command_line.parse(text, valued=command.valued, switches=command.switches)
