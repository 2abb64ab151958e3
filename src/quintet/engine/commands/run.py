"""The slash commands on the run and the session: hold, go on, stop, choose a model, leave."""

from __future__ import annotations

from msgspec import to_builtins

from quintet.domain.agents.run import RunErrorCode, RunPhase
from quintet.domain.base.errors import RunFailed, UsageError
from quintet.domain.base.wording import counted, did_you_mean
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.describe import compacted
from quintet.domain.journal.dial_state import DialState
from quintet.domain.journal.protocol import ModelChosen, ReasoningSwitched, RunPaused, RunResumed, RunTaken
from quintet.domain.settings.settings import REPLAYED
from quintet.domain.turn.reports import Order
from quintet.engine.agents import runs
from quintet.engine.commands.agents import resuming
from quintet.engine.commands.cycle import going_on, withdrawn
from quintet.engine.session import dials
from quintet.engine.session.command_context import Beginning, CommandOutcome, Desk, after
from quintet.engine.turn import compaction


def pause(desk: Desk, line: CommandLine) -> CommandOutcome:
    if desk.state.turns.open is None and not _cycling(desk):
        if events := runs.put_aside(desk.core, desk.state, "/pause"):
            return CommandOutcome("put aside; /resume goes on", events)
        raise UsageError("nothing is running")
    if desk.state.turns.paused:
        return CommandOutcome("already paused; /resume goes on")
    desk.hold()
    return CommandOutcome("paused after the current step; /resume goes on", [RunPaused(reason="/pause")])


def resume(desk: Desk, line: CommandLine) -> CommandOutcome:
    if len(line.words) > 1:
        raise UsageError("/resume takes the id of one run, or nothing")
    if desk.state.turns.paused and not line.words:
        data = {"turn": desk.state.turns.open.turn if desk.state.turns.open else ""}
        if desk.state.cycle and desk.state.cycle.at_work:
            data["cycle"] = desk.state.cycle.run
        return CommandOutcome("goes on", [RunResumed(reason="/resume")], after(None, desk.let_go), data)
    if desk.state.turns.open or desk.state.turns.waiting or _cycling(desk):
        raise UsageError("a turn is running: wait for it, or /stop it")
    if not line.words and (beginning := going_on(desk)):
        return CommandOutcome("the cycle goes on", data={"turn": ""}, begins=beginning)
    if desk.state.turns.interrupted and not line.words:
        return CommandOutcome("goes on where it was interrupted", then=desk.continue_turn, data={"turn": "next"})
    return _resume_run(desk, "".join(line.words))


def _resume_run(desk: Desk, wanted: str) -> CommandOutcome:
    try:
        events = resuming(desk.core, desk.state, wanted, desk.surface)
    except RunFailed as error:
        if not wanted and error.code == RunErrorCode.PRECONDITION:
            raise UsageError("nothing is paused or interrupted, and no run can be resumed") from None
        raise
    taken = next(event for event in events if isinstance(event, RunTaken))
    run = taken.run
    if taken.cycle:
        beginning = Beginning("", Order("build", run.run_id))
        return CommandOutcome(f"goes on with run {run.run_id}", events, data={"turn": ""}, begins=beginning)
    data = {"turn": "next", "event": {"type": "RUN_RESUMED", "run": to_builtins(run)}}
    return CommandOutcome(f"goes on with run {run.run_id}", events, desk.continue_turn, data)


def stop(desk: Desk, line: CommandLine) -> CommandOutcome:
    state = desk.state
    run = state.runs.known.get(state.runs.active)
    running = state.turns.open is not None or _cycling(desk)
    if not running and not state.dials.pending and run is None:
        raise UsageError("nothing is running")
    dropped = dials.drop_all(state, "/stop")
    said = f"; {counted(len(dropped), 'waiting transition')} dropped" if dropped else ""
    waiting = runs.moved(desk.core, run, RunPhase.CANCELLED, "/stop") if run and not running else []
    return CommandOutcome(f"stopped{said}", [*dropped, *waiting, *withdrawn(state, "/stop")], desk.stop)


def _cycling(desk: Desk) -> bool:
    return bool(desk.state.cycle and desk.state.cycle.at_work)


def choose_model(desk: Desk, line: CommandLine) -> CommandOutcome:
    names = desk.core.turn.models.names()
    if not line.words:
        used = desk.core.turn.models.route(desk.state.dials)
        return CommandOutcome(
            f"{used} is in use. /model takes one of: {', '.join(names)}, or auto for the routing table"
        )
    name = line.words[0]
    if name != "auto" and name not in names and not name.startswith(REPLAYED):
        raise UsageError(f'model "{name}": not one of {", ".join(names)}.{did_you_mean(name, names)}')
    chosen = "" if name == "auto" else name
    return CommandOutcome(
        f"model {name}"
        if chosen
        else f"model by model mode: {desk.core.turn.models.route(DialState(desk.state.axes))}",
        [ModelChosen(name=chosen)],
    )


def reasoning(desk: Desk, line: CommandLine) -> CommandOutcome:
    now = "on" if desk.state.dials.reasoning else "off"
    if not line.words:
        return CommandOutcome(f"reasoning is {now}; /reasoning on|off turns it")
    word = line.words[0].lower()
    if word not in ("on", "off"):
        raise UsageError(f'reasoning "{line.words[0]}": not one of on, off')
    if word == now:
        return CommandOutcome(f"reasoning is {now} already")
    return CommandOutcome(f"reasoning {word}, from the next step on", [ReasoningSwitched(enabled=word == "on")])


def qa(desk: Desk, line: CommandLine) -> CommandOutcome:
    report = desk.state.work.qa
    if report is None:
        raise UsageError("no turn of this session has been reviewed yet")
    return CommandOutcome(report.as_markdown().rstrip(), data={"severity": report.severity})


def compact(desk: Desk, line: CommandLine) -> CommandOutcome:
    event = compaction.by_rules(desk.core, desk.state, "/compact")
    if event is None:
        held = len(desk.state.conversation.messages)
        return CommandOutcome(
            f"nothing to compact: {counted(held, 'message')} in the conversation, and all of them stay"
        )
    return CommandOutcome(f"compacted {compacted(event)}", [event], data={"compacted": event.kept + 1})


def leave(desk: Desk, line: CommandLine) -> CommandOutcome:
    return CommandOutcome("bye; nothing is lost, `quintet --resume` comes back here", data={"quit": True})
