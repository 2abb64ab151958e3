"""The slash commands of a cycle: plan, accept, build, one unit, again at once, afresh; and when an input is one."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import Axes, AxesChange, ModelMode, PermissionProfile, RunControl, WorkMode, merge
from quintet.domain.dials.transitions import Activity, Scope
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.cycle_events import PlannedTask
from quintet.domain.journal.cycle_state import CycleState
from quintet.domain.journal.protocol import (
    Choice,
    DialsTurned,
    Event,
    PlanMade,
    QuestionAnswered,
    QuestionAsked,
    RunResumed,
)
from quintet.domain.journal.state import SessionState
from quintet.domain.permission.answers import NO
from quintet.domain.tasks.arrangement import arranged, reworded
from quintet.domain.tasks.page import read_pages, write_page
from quintet.domain.tasks.request_split import file_named, is_several, names_a_page
from quintet.domain.tasks.roles import NATIVE, roles_in_use
from quintet.domain.turn.reports import Order
from quintet.engine.commands.dials import flag_changes, scope_in, turn_dials
from quintet.engine.commands.work import begin_work
from quintet.engine.session import dials
from quintet.engine.session.command_context import BeginWork, CommandContext, CommandOutcome, TurnEffect
from quintet.engine.session.core import Core
from quintet.engine.session.questions import Follow, QuestionAbout

NO_PLAN = "there is no plan to accept; /plan TEXT makes one"
PROFILES = {
    "a": PermissionProfile.NORMAL,
    "t": PermissionProfile.TRUSTED,
    "u": PermissionProfile.UNRESTRICTED,
}
ONE_BY_ONE = "s"
KEEP = "k"  # the model mode


def begins_one(core: Core, state: SessionState, text: str, order: Order | None) -> bool:
    """Whether an input begins a cycle, or goes on with one: it was asked for, or it is several tasks.

    In build an autonomous run plans first; otherwise one input is one unit, whatever it says.
    """
    if order:
        return order.kind in ("plan", "build")
    axes, settings = state.axes, core.settings.cycle
    building = axes.work_mode is WorkMode.BUILD and axes.run_control is RunControl.AUTONOMOUS
    if not (text and building and settings.from_input and state.runs.agent is None and state.helper is None):
        return False
    by_rules = roles_in_use(state.executors, settings).planner == NATIVE and not core.turn.models.staged(state.dials)
    return is_several(text, lines=by_rules)


def plan(context: CommandContext, line: CommandLine) -> CommandOutcome:
    text = "\n".join(filter(None, (*line.words, line.details.strip())))
    if not text:
        raise UsageError("/plan TEXT, or /plan FILE: say what to do")
    source = file_named(text)
    if source and (content := context.core.turn.toolbox.content(source)).strip():
        text = content
    elif source and names_a_page(source):
        raise UsageError(f"{source}: no such file, or it is empty")
    else:
        source = ""
    return begin_work(context, WorkMode.PLAN, "planning starts", BeginWork(text, Order("plan", source)))


def accept(context: CommandContext, line: CommandLine) -> CommandOutcome:
    cycle = _at_rest(context)
    if cycle is None or not cycle.plan.pending:
        raise UsageError(NO_PLAN)
    beginning = BeginWork("", Order("build", cycle.run))
    changes = flag_changes(line)
    if context.core.person and not changes:
        question, accepted = acceptance(context.core, context.state, lambda: context.activity)
        withdrawn = context.questions.withdrawn(QuestionAbout.PLAN, "asked again")
        context.questions.follow(question, QuestionAbout.PLAN, accepted)
        return CommandOutcome("", [*withdrawn, question], begins=beginning)
    change = merge([AxesChange(work_mode=WorkMode.BUILD), *changes])
    outcome = turn_dials(context, change, Scope.NOW, "/accept")
    outcome.begins = beginning
    return outcome


def arrange(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """Change the plan that waits: which of its tasks, in which order, in which words."""
    cycle, core = _at_rest(context), context.core
    if cycle is None or not cycle.plan.pending:
        raise UsageError(NO_PLAN)
    texts = read_pages(core.cycle.plans.pages(cycle.run))
    sentence = "".join(line.words)
    match sentence.split(maxsplit=2):
        case ["edit", id, *words]:
            texts = reworded(texts, id, "\n".join((*words, line.details)))
        case _:
            texts = arranged(texts, sentence.split())
    core.cycle.plans.keep(cycle.run, [(f"{text.id}.md", write_page(text)) for text in texts])
    planned = tuple(PlannedTask(text.id, text.title, text.depends_on, text.verification) for text in texts)
    made = PlanMade(run=cycle.run, milestone=cycle.plan.pending, by="user", tasks=planned)
    withdrawn = context.questions.withdrawn(QuestionAbout.PLAN, "the plan was changed")
    if not core.person:
        return CommandOutcome("", [*withdrawn, made])
    question, accepted = acceptance(core, context.state, lambda: context.activity)
    context.questions.follow(question, QuestionAbout.PLAN, accepted)
    return CommandOutcome("", [*withdrawn, made, question], begins=BeginWork("", Order("build", cycle.run)))


def acceptance(core: Core, state: SessionState, activity: Callable[[], Activity]) -> tuple[QuestionAsked, Follow]:
    """The question whether a plan is to be built, by whom advanced and with what profile; and what follows from it.

    A plan is thought out at deep and built at smart, unless the user wants to keep the model mode.
    """
    axes = state.axes
    kept = axes.model_mode is not ModelMode.SMART
    profiles = dict(PROFILES)
    raised = axes.permission_profile is PermissionProfile.RESTRICTED  # nothing is built there
    if kept:
        profiles[KEEP] = PermissionProfile.NORMAL if raised else axes.permission_profile
    choices = [
        Choice(
            key,
            f"autonomous, profile {profile}{' (as now)' if profile is axes.permission_profile else ''}{_at(axes, key)}",
            only_selects=_widens(axes, profile) or UNSET,
        )
        for key, profile in profiles.items()
    ]
    at_profile = f", profile {PermissionProfile.NORMAL}" if raised else ""
    one_by_one = Choice(
        ONE_BY_ONE, f"one task at a time{at_profile}{_at(axes, ONE_BY_ONE)}", only_selects=raised or UNSET
    )
    question = QuestionAsked(
        question=core.ids.new("q"),
        kind="choose",
        text="Build this plan?",
        choices=(*choices, one_by_one, Choice(NO, "not now")),
    )

    def follow(answer: QuestionAnswered) -> list[Event] | None:
        if answer.choice == NO:
            return None
        profile = profiles.get(answer.choice)
        control = RunControl.AUTONOMOUS if profile else RunControl.ASSISTED
        if profile is None and raised:
            profile = PermissionProfile.NORMAL
        model_mode = ModelMode.SMART if kept and answer.choice != KEEP else None
        change = AxesChange(WorkMode.BUILD, control, profile, model_mode)
        return [dials.turn(state, dials.new(core.ids, change, Scope.NOW, "/accept"), activity())]

    return question, follow


def _widens(axes: Axes, profile: PermissionProfile) -> bool:
    """Whether more would run without approval than now; everything, in any case."""
    return profile.rank > axes.permission_profile.rank or profile is PermissionProfile.UNRESTRICTED


def _at(axes: Axes, key: str) -> str:
    """The model mode that a choice builds at, where that is a question."""
    if axes.model_mode is ModelMode.SMART:
        return ""
    return f", model mode {axes.model_mode} (as now)" if key == KEEP else ", model mode smart"


def implement(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """Build what is planned: the plan that waits, or the tasks that are there."""
    cycle = _at_rest(context)
    if cycle and cycle.plan.pending:
        return accept(context, line)
    change = merge([AxesChange(work_mode=WorkMode.BUILD), *flag_changes(line)])
    outcome = turn_dials(context, change, Scope.NOW, "/implement")
    outcome.begins = BeginWork("", Order("build", cycle.run if cycle else ""))
    return outcome


def going_on(context: CommandContext, control: RunControl | None = None) -> BeginWork | None:
    """What takes up a cycle that has stopped and can go on, at a run control; None if there is none."""
    state = context.state
    cycle = state.live_cycle
    if cycle is None or cycle.at_work or state.turns.open or state.turns.following:
        return None
    if state.runs.active not in ("", cycle.run):
        return None
    if cycle.plan.pending and (control or state.axes.run_control) is not RunControl.AUTONOMOUS:
        raise UsageError("the plan needs your approval: /accept")
    return BeginWork("", Order("build", cycle.run))


def open_tasks(context: CommandContext) -> tuple[BeginWork | None, str]:
    """What begins the project's open tasks, and what is said of them: they are done in work mode build."""
    state = context.state
    if state.turns.open or state.turns.following or state.runs.active or (state.cycle and state.cycle.at_work):
        return None, ""
    number = context.core.cycle.tasks().can_go_on()
    if not number:
        return None, ""
    waiting = f"{counted(number, 'open task')}"
    if state.axes.work_mode is not WorkMode.BUILD:
        return None, f"{waiting} in this project; /implement builds {'it' if number == 1 else 'them'}"
    return BeginWork("", Order("build", "")), f"continuing with {waiting}"


def next_unit(context: CommandContext, line: CommandLine) -> CommandOutcome:
    outcome = turn_dials(context, AxesChange(run_control=RunControl.ASSISTED), Scope.NOW, "/next")
    return _advanced(context, outcome, RunControl.ASSISTED)


def autonomous(context: CommandContext, line: CommandLine) -> CommandOutcome:
    control = AxesChange(run_control=RunControl.AUTONOMOUS)
    wanted = merge([control, *flag_changes(line)])
    outcome = turn_dials(context, wanted, scope_in(line.words), "/autonomous")
    return _advanced(context, outcome, RunControl.AUTONOMOUS)


def _advanced(context: CommandContext, outcome: CommandOutcome, control: RunControl) -> CommandOutcome:
    """What waits goes on with the dial that was turned: what is paused, a cycle that stopped, open tasks."""
    if not any(isinstance(event, DialsTurned) for event in outcome.events):
        return outcome
    if context.state.turns.paused:
        outcome.events.append(RunResumed(reason=f"/control {control}"))
        outcome.effects.append(TurnEffect.LET_GO)
        return outcome
    outcome.begins = going_on(context, control)
    if outcome.begins is None:
        outcome.begins, said = open_tasks(context)
        outcome.text = "\n".join(filter(None, (outcome.text, said)))
    return outcome


def retry(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if not context.skip_wait():
        raise UsageError("there is nothing to retry")
    return CommandOutcome("retrying now")


async def reset(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if line.words not in ((), ("yes",)):
        raise UsageError("/reset [yes]")
    _at_rest(context)
    try:
        if not line.words:
            told = context.core.cycle.tasks().would_reset()
            return CommandOutcome(f"this would {told}; to do it: /reset yes", data={"confirm": "/reset yes"})
        done = await context.core.cycle.tasks().reset(context.state.runs.active or "reset")
    except UsageError:
        raise
    except QuintetError as error:
        raise UsageError(error.message, hint=error.hint) from error
    return CommandOutcome("\n".join(done) or "nothing to reset")


def _at_rest(context: CommandContext) -> CycleState | None:
    if (
        context.state.turns.open
        or context.state.turns.following
        or (context.state.cycle and context.state.cycle.at_work)
    ):
        raise UsageError("a turn is running: wait until it ends, or /stop it")
    return context.state.live_cycle
