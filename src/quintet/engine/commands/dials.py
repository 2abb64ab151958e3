"""The slash commands that turn dials: each makes the transition its words ask for, at the scope they name."""

from __future__ import annotations

from msgspec import to_builtins

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials import badge
from quintet.domain.dials.axes import AXIS_WORDS, AxesChange, ModelMode, RunControl, WorkMode, merge, parse_axis
from quintet.domain.dials.transitions import Scope
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import Choice, DialsTurned, QuestionAsked, RunResumed
from quintet.engine.session import dials
from quintet.engine.session.command_context import CommandOutcome, Desk, Handler, after
from quintet.engine.session.questions import closed

ABOUT_DEEP = "Review is best at model mode deep"


def axis_command(word: str) -> Handler:
    def handler(desk: Desk, line: CommandLine) -> CommandOutcome:
        if not line.words:
            return _where_it_stands(desk, word)
        changes = [parse_axis(word, line.words[0]), *flag_changes(line)]
        return turn_dials(desk, merge(changes), _scope(line.words[1:]), f"/{line.name}")

    return handler


def fixed(change: AxesChange) -> Handler:
    def handler(desk: Desk, line: CommandLine) -> CommandOutcome:
        return turn_dials(desk, merge([change, *flag_changes(line)]), _scope(line.words), f"/{line.name}")

    return handler


def steer(desk: Desk, line: CommandLine) -> CommandOutcome:
    if len(line.words) < 2:
        raise UsageError("/steer AXIS VALUE [SCOPE], for example /steer mode review after-current-unit")
    axis, value, *scope = line.words
    if axis not in AXIS_WORDS:
        raise UsageError(f'axis "{axis}": not one of {", ".join(AXIS_WORDS)}.{did_you_mean(axis, AXIS_WORDS)}')
    return turn_dials(desk, parse_axis(axis, value), _scope(tuple(scope)), "/steer")


def next_unit(desk: Desk, line: CommandLine) -> CommandOutcome:
    from quintet.engine.commands.cycle import going_on

    outcome = turn_dials(desk, AxesChange(run_control=RunControl.ASSISTED), Scope.NOW, "/next")
    if desk.state.turns.paused:
        outcome.events.append(RunResumed(reason="/next"))
        outcome.then = after(outcome.then, desk.let_go)
    elif beginning := going_on(desk):
        outcome.data["turn"], outcome.begins = "", beginning
    return outcome


def turn_dials(desk: Desk, change: AxesChange, scope: Scope, reason: str) -> CommandOutcome:
    state = desk.state
    event = dials.turn(state, dials.new(desk.core.ids, change, scope, reason), desk.activity)
    if not isinstance(event, DialsTurned):
        wanted = badge.full(change.applied_to(state.axes))
        waits = "when the tool that is running ends" if scope is Scope.NOW else str(scope)
        then = desk.abort_tool if scope is Scope.NOW else None
        return CommandOutcome(f"{wanted}   waits: {waits}", [event], then, {"pending": event.transition})
    outcome = CommandOutcome(badge.full(event.after), [event], data={"axes": to_builtins(event.after)})
    if event.after == event.before:
        outcome.text += "   (as it was)"
    entered_review = event.after.work_mode is WorkMode.REVIEW and event.before.work_mode is not WorkMode.REVIEW
    if entered_review and event.after.model_mode is not ModelMode.DEEP:
        _offer_deep(desk, event, outcome)
    if event.after.work_mode is not WorkMode.REVIEW or event.after.model_mode is ModelMode.DEEP:
        moot = [asked for asked in state.questions.values() if asked.text.startswith(ABOUT_DEEP)]
        outcome.events += [closed(asked.question, "the dial was turned on") for asked in moot]
    return outcome


def _offer_deep(desk: Desk, event: DialsTurned, outcome: CommandOutcome) -> None:
    """Review wants a reasoning model: ask once, change nothing unasked."""
    if not desk.core.person:
        outcome.text += f"\n{ABOUT_DEEP}; nobody is here to ask, so it goes on at {event.after.model_mode}."
        return
    question = QuestionAsked(
        question=desk.core.ids.new("q"),
        kind="choose",
        text=f"{ABOUT_DEEP}; this is {event.after.model_mode}. Go deep?",
        choices=(Choice("d", "go deep"), Choice("g", f"go on at {event.after.model_mode}")),
    )
    outcome.events.append(question)
    desk.go_deep_if_told(question)


def flag_changes(line: CommandLine) -> list[AxesChange]:
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


def _where_it_stands(desk: Desk, word: str) -> CommandOutcome:
    choices = " ".join(AXIS_WORDS[word])
    return CommandOutcome(f"{badge.full(desk.state.axes)}\n/{word} takes one of: {choices}")
