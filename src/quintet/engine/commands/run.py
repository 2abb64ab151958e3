"""The slash commands on the run and the session: hold, go on, stop, choose a model, leave."""

from __future__ import annotations

from msgspec import to_builtins

from quintet.domain.agents.run import RunErrorCode, RunPhase
from quintet.domain.base.errors import RunFailed, UsageError
from quintet.domain.base.wording import counted, did_you_mean
from quintet.domain.dials.axes import Surface
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.describe import compacted, nothing_to_compact
from quintet.domain.journal.dial_state import DialState
from quintet.domain.journal.protocol import ModelChosen, ReasoningSwitched, RunPaused, RunResumed, RunTaken
from quintet.domain.models.connecting import sends
from quintet.domain.settings.settings import REPLAYED
from quintet.domain.turn.reports import Order
from quintet.engine.agents import runs
from quintet.engine.commands import queued
from quintet.engine.commands.agents import resume_run
from quintet.engine.commands.cycle import going_on, open_tasks
from quintet.engine.session import dials
from quintet.engine.session.command_context import BeginWork, CommandContext, CommandOutcome, TurnEffect
from quintet.engine.session.questions import QuestionAbout
from quintet.engine.turn import compaction


def pause(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if context.state.turns.open is None and not _cycling(context):
        if events := runs.put_aside(context.core, context.state, "/pause"):
            return CommandOutcome("paused; /resume continues", events)
        raise UsageError("nothing is running")
    if context.state.turns.paused:
        return CommandOutcome("already paused; /resume continues")
    said = "paused after the current request; /resume continues"
    return CommandOutcome(said, [RunPaused(reason="/pause")], [TurnEffect.HOLD])


def resume(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if len(line.words) > 1:
        raise UsageError("/resume takes the id of one run, or nothing")
    if context.state.turns.paused and not line.words:
        data = {"turn": context.state.turns.open.turn if context.state.turns.open else ""}
        if context.state.cycle and context.state.cycle.at_work:
            data["cycle"] = context.state.cycle.run
        return CommandOutcome("continues", [RunResumed(reason="/resume")], [TurnEffect.LET_GO], data=data)
    if context.state.turns.open or context.state.turns.following or _cycling(context):
        raise UsageError("a turn is running: wait until it ends, or /stop it")
    if not line.words and (beginning := going_on(context)):
        return CommandOutcome("the cycle continues", begins=beginning)
    let_go = queued.released(context.state, "/resume") if not line.words else []
    if context.state.turns.interrupted and not line.words:
        return CommandOutcome("continues from where it was interrupted", let_go, [TurnEffect.CONTINUE])
    if let_go:
        return CommandOutcome("continues with the queued inputs", let_go)
    return _resume_run(context, "".join(line.words))


def _resume_run(context: CommandContext, wanted: str) -> CommandOutcome:
    try:
        events = resume_run(context.core, context.state, wanted, context.surface)
    except RunFailed as error:
        if wanted or error.code != RunErrorCode.PRECONDITION:
            raise
        beginning, said = open_tasks(context)
        if beginning is None:
            nothing = "nothing is paused or interrupted, and no run can be resumed"
            raise UsageError("; ".join(filter(None, (nothing, said)))) from None
        return CommandOutcome(said, begins=beginning)
    taken = next(event for event in events if isinstance(event, RunTaken))
    run = taken.run
    if taken.cycle:
        beginning = BeginWork("", Order("build", run.run_id))
        return CommandOutcome(f"continues with run {run.run_id}", events, begins=beginning)
    data = {"event": {"type": "RUN_RESUMED", "run": to_builtins(run)}}
    return CommandOutcome(f"continues with run {run.run_id}", events, [TurnEffect.CONTINUE], data=data)


def stop(context: CommandContext, line: CommandLine) -> CommandOutcome:
    state = context.state
    run = state.runs.known.get(state.runs.active)
    running = state.turns.open is not None or _cycling(context)
    if not (running or state.dials.pending or run or context.interrupted):
        raise UsageError("nothing is running")
    dropped = dials.drop_all(state, "/stop")
    said = f"; {counted(len(dropped), 'pending transition')} removed" if dropped else ""
    withdrawn = context.questions.withdrawn(QuestionAbout.PLAN, "/stop")
    waiting = runs.move(context.core, run, RunPhase.CANCELLED, "/stop") if run and not running else []
    held = queued.held(state, "/stop")
    return CommandOutcome(f"stopped{said}", [*dropped, *waiting, *withdrawn, *held], [TurnEffect.STOP])


def _cycling(context: CommandContext) -> bool:
    return bool(context.state.cycle and context.state.cycle.at_work)


def choose_model(context: CommandContext, line: CommandLine) -> CommandOutcome:
    names = context.core.turn.models.names()
    if not line.words:
        used = context.core.turn.models.route(context.state.dials)
        return CommandOutcome(
            f"{used} is in use. /model takes one of: {', '.join(names)}, PRESET/MODEL, or auto for the routing table"
        )
    name = line.words[0]
    if name != "auto" and name not in names and not name.startswith(REPLAYED):
        direct = context.core.turn.models.configured(name)
        if direct is None:
            hint = "" if "/" in name else " PRESET/MODEL is a model of a provider."
            raise UsageError(f'model "{name}": not one of {", ".join(names)}.{did_you_mean(name, names)}{hint}')
        context.core.turn.models.make(name)  # an error here and now where its key is missing
        said = f"model {name}; {sends(direct.base_url, key=bool(direct.api_key_env))}" if direct.base_url else name
        return CommandOutcome(said, [ModelChosen(name=name)])
    chosen = "" if name == "auto" else name
    return CommandOutcome(
        f"model {name}"
        if chosen
        else f"model chosen by model mode: {context.core.turn.models.route(DialState(context.state.axes))}",
        [ModelChosen(name=chosen)],
    )


def reasoning(context: CommandContext, line: CommandLine) -> CommandOutcome:
    now = "on" if context.state.dials.reasoning else "off"
    if not line.words:
        return CommandOutcome(f"reasoning is {now}; /reasoning on|off changes it")
    word = line.words[0].lower()
    if word not in ("on", "off"):
        raise UsageError(f'reasoning "{line.words[0]}": not one of on, off')
    if word == now:
        return CommandOutcome(f"reasoning is {now} already")
    return CommandOutcome(f"reasoning {word}, from the next request", [ReasoningSwitched(enabled=word == "on")])


def qa(context: CommandContext, line: CommandLine) -> CommandOutcome:
    report = context.state.work.qa
    if report is None:
        raise UsageError("no turn of this session has been reviewed yet")
    return CommandOutcome(report.as_markdown().rstrip(), data={"severity": report.severity})


def compact(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """By the rules at once; with a model's own words where one is configured and no turn is in its way."""
    keep = "\n".join(filter(None, (*line.words, line.details.strip())))
    core, state = context.core, context.state
    if len(state.conversation.messages) < 2:
        return CommandOutcome(nothing_to_compact(len(state.conversation.messages)))
    limits = compaction.limits_of(core, state, context.next_request())
    event = compaction.by_rules(core, state, "/compact", limits, keep)
    if event is None or _at_offline_rules(context):
        return CommandOutcome(nothing_to_compact(len(state.conversation.messages)))
    if not context.busy and compaction.writes(core, state):
        said = f"{core.turn.models.route(state.dials)} writes a summary"
        return CommandOutcome(said, begins=BeginWork("", Order("compact", keep)))
    return CommandOutcome(f"compacted {compacted(event)}", [event], data={"compacted": event.kept + 1})


def _at_offline_rules(context: CommandContext) -> bool:
    """Whether the offline rules are in the middle of a turn: they read it whole at each request."""
    return context.state.turns.open is not None and not context.core.turn.models.staged(context.state.dials)


def leave(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if context.surface in (Surface.WEB, Surface.RPC):
        raise UsageError("/quit leaves a terminal; here, close the page or the editor's session: everything is saved")
    again = f"`quintet --resume {context.state.session}` opens this session again"
    return CommandOutcome(f"bye; everything is saved, {again}", data={"quit": True})
