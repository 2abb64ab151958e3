"""The slash commands that turn dials: each makes the transition its words ask for, at the scope they name.

`/theme` is about the screen: the surface that gave it carries it out.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import to_builtins

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials import badge
from quintet.domain.dials.axes import (
    AXIS_FIELDS,
    AXIS_WORDS,
    AxesChange,
    ModelMode,
    RunControl,
    Surface,
    WorkMode,
    merge,
    parse_axis,
)
from quintet.domain.dials.transitions import Activity, Scope
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import (
    Choice,
    DialsTurned,
    Event,
    Noticed,
    QuestionAnswered,
    QuestionAsked,
    TransitionPending,
    TurnStarted,
)
from quintet.domain.journal.state import SessionState
from quintet.domain.settings.screen import THEMES
from quintet.engine.session import dials
from quintet.engine.session.command_context import CommandContext, CommandOutcome, Handler, TurnEffect
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import Follow, QuestionAbout, Questions

ABOUT_DEEP = "Review works best in model mode deep"
DEEP = "d"
DROP = "drop"
OFFLINE = "builtin"  # the offline rules know nothing of a mode


def axis_command(word: str) -> Handler:
    def handler(context: CommandContext, line: CommandLine) -> CommandOutcome:
        if not line.words:
            return _where_it_stands(context, word)
        changes = [parse_axis(word, line.words[0]), *flag_changes(line)]
        return turn_dials(context, merge(changes), scope_in(line.words[1:]), f"/{line.name}")

    return handler


def steer(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if len(line.words) < 2:
        raise UsageError(
            "/steer DIAL VALUE [SCOPE], for example /steer mode review after-current-unit; /steer drop DIAL cancels it"
        )
    axis, value, *scope = line.words
    if axis == DROP:
        axis, value = value, DROP
    if axis not in AXIS_WORDS:
        raise UsageError(f'dial "{axis}": not one of {", ".join(AXIS_WORDS)}.{did_you_mean(axis, AXIS_WORDS)}')
    if value == DROP:
        dropped = dials.drop(context.state, AXIS_FIELDS[axis], "/steer drop")
        return CommandOutcome(f"{axis} is unchanged" if dropped else f"nothing is pending for {axis}", dropped)
    return turn_dials(context, parse_axis(axis, value), scope_in(tuple(scope)), "/steer")


def theme(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if not line.words:
        return CommandOutcome(
            f"/theme takes one of: {' '.join(THEMES)}\nto keep it, set display.theme in your settings"
        )
    name = line.words[0].lower()
    if name not in THEMES or len(line.words) > 1:
        wanted = " ".join(line.words)
        raise UsageError(f'theme "{wanted}": not one of {", ".join(THEMES)}.{did_you_mean(wanted, THEMES)}')
    if context.surface is not Surface.TUI:
        raise UsageError("/theme changes the screen of a terminal; to keep a theme, set display.theme in your settings")
    return CommandOutcome(f"theme {name}, this session", data={"theme": name})


def turn_dials(context: CommandContext, change: AxesChange, scope: Scope, reason: str) -> CommandOutcome:
    state = context.state
    event = dials.turn(state, dials.new(context.core.ids, change, scope, reason), context.activity)
    if not isinstance(event, DialsTurned):
        wanted = badge.full(change.applied_to(state.axes))
        waits = "when the running tool ends" if scope is Scope.NOW else str(scope)
        effects = [TurnEffect.ABORT_TOOL] if scope is Scope.NOW else []
        data = {"pending": event.transition}
        return CommandOutcome(f"{wanted}   pending: {waits}", [event], effects, data=data)
    outcome = CommandOutcome(badge.full(event.after), [event], data={"axes": to_builtins(event.after)})
    if event.after == event.before:
        outcome.text += "   (no change)"
    wants = _wants_deep(context.core, state, event)
    if wants and context.core.person:
        asked, follow = _deep(context.core, state, event, lambda: context.activity)
        outcome.events.append(asked)
        context.questions.follow(asked, QuestionAbout.DEEP_MODEL, follow)
    elif wants:
        outcome.text += f"\n{_unasked(event)}"
    if event.after.work_mode is not WorkMode.REVIEW or event.after.model_mode is ModelMode.DEEP:
        outcome.events += context.questions.withdrawn(QuestionAbout.DEEP_MODEL, "the dial was changed again")
    return outcome


class LateReview:
    """Asks what a command asks at once, when review lands later than the command that turned the dial.

    A review that begins before it is answered has decided: the question is closed.
    """

    def __init__(self, core: Core, journal: Journal, questions: Questions, activity: Callable[[], Activity]) -> None:
        self._core = core
        self._journal = journal
        self._questions = questions
        self._activity = activity
        self._pending = {transition.id for transition in journal.state.dials.pending}

    def on_event(self, event: Event) -> None:
        begins = isinstance(event, TurnStarted) and self._journal.state.axes.work_mode is WorkMode.REVIEW
        if begins and (closed := self._questions.withdrawn(QuestionAbout.DEEP_MODEL, "the review began")):
            self._journal.post(*closed)
        if isinstance(event, TransitionPending):
            self._pending.add(event.transition)
        if not (isinstance(event, DialsTurned) and event.transition in self._pending):
            return
        self._pending.discard(event.transition)
        if not _wants_deep(self._core, self._journal.state, event):
            return
        if not self._core.person:
            self._journal.post(Noticed(level="info", code="REVIEW_MODEL", text=_unasked(event)))
            return
        asked, follow = _deep(self._core, self._journal.state, event, self._activity)
        self._questions.follow(asked, QuestionAbout.DEEP_MODEL, follow)
        self._journal.post(asked)


def _wants_deep(core: Core, state: SessionState, event: DialsTurned) -> bool:
    """Whether review was entered without the reasoning model that it wants, and there is another one."""
    entered = event.after.work_mode is WorkMode.REVIEW and event.before.work_mode is not WorkMode.REVIEW
    if not entered or event.after.model_mode is ModelMode.DEEP:
        return False
    routing, named = core.settings.routing, state.dials.model
    uses = (event.after.model_mode, ModelMode.DEEP)
    now, deep = ((routing.model(use, named), routing.effort(use)) for use in uses)
    return now != deep or now[0] == OFFLINE


def _unasked(event: DialsTurned) -> str:
    return f"{ABOUT_DEEP}; this run is non-interactive, so it continues at {event.after.model_mode}."


def _deep(
    core: Core, state: SessionState, event: DialsTurned, activity: Callable[[], Activity]
) -> tuple[QuestionAsked, Follow]:
    """The question whether to review with a reasoning model, and what follows from it; nothing changes unasked."""
    question = QuestionAsked(
        question=core.ids.new("q"),
        kind="choose",
        text=f"{ABOUT_DEEP}; this is {event.after.model_mode}. Switch to deep?",
        choices=(Choice(DEEP, "switch to deep"), Choice("g", f"stay at {event.after.model_mode}")),
    )

    def follow(answer: QuestionAnswered) -> list[Event]:
        if answer.choice != DEEP:
            return []
        wanted = dials.new(core.ids, AxesChange(model_mode=ModelMode.DEEP), Scope.NOW, "chosen for review")
        return [dials.turn(state, wanted, activity())]

    return question, follow


def flag_changes(line: CommandLine) -> list[AxesChange]:
    changes = [parse_axis(word, str(line.flags[word])) for word in AXIS_WORDS if word in line.flags]
    if line.flags.get("autonomous"):
        changes.append(AxesChange(run_control=RunControl.AUTONOMOUS))
    return changes


def scope_in(words: tuple[str, ...]) -> Scope:
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


def _where_it_stands(context: CommandContext, word: str) -> CommandOutcome:
    choices = " ".join(AXIS_WORDS[word])
    return CommandOutcome(f"{badge.full(context.state.axes)}\n/{word} takes one of: {choices}")
