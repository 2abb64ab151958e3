"""Runs, whatever they work on: create, take up, put aside, end. Each gives the events; whoever asked writes them.

The journal is the record of runs: those of other sessions are read from it, and a run is in one session at a time.
"""

from __future__ import annotations

from msgspec import structs

from quintet.domain.agents.agent import Agent
from quintet.domain.agents.run import MOVES, TERMINAL, ErrorInfo, RunErrorCode, RunMetadata, RunPhase, outcome
from quintet.domain.base.errors import RunFailed, StoreError
from quintet.domain.journal.cycle_state import recorded
from quintet.domain.journal.protocol import (
    DataLoaded,
    Event,
    RunMoved,
    RunStarted,
    RunTaken,
    TurnFinished,
    TurnStarted,
)
from quintet.domain.journal.state import SessionState, fold
from quintet.engine.session.core import Core

MOST_NAMED = 5  # runs that an error names
KINDS = ("run_started", "run_taken", "run_moved")


def create(core: Core, workflow_ref: str, agent: Agent | None) -> RunStarted:
    """A new run with a folder of its own."""
    run, now = core.ids.new("run"), core.clock.now()
    core.agents.make_folder(run)
    package, agent_id = (agent.package, agent.id) if agent else ("", "")
    made = RunMetadata(run, core.project, package, workflow_ref, agent_id, RunPhase.IDLE, now, now)
    return RunStarted(run=made)


def move(
    core: Core, run: RunMetadata, after: RunPhase, reason: str = "", error: ErrorInfo | None = None
) -> list[Event]:
    """The event of a legal move; none where the run is there already."""
    if run.phase is after:
        return []
    if after not in MOVES[run.phase]:
        raise RunFailed(RunErrorCode.PRECONDITION, f"run {run.run_id} is {run.phase} and cannot become {after}")
    now = core.clock.now()
    return [RunMoved(run=run.run_id, before=run.phase, after=after, at=now, reason=reason, error=error)]


def put_aside(core: Core, state: SessionState, reason: str) -> list[Event]:
    """Detach the active run, if there is one; it can be resumed."""
    run = state.runs.known.get(state.runs.active)
    return move(core, run, RunPhase.PAUSED, reason) if run else []


def begin(core: Core, state: SessionState, run: str) -> list[Event]:
    """A turn of the run begins."""
    return move(core, state.runs.known[run], RunPhase.RUNNING) if run in state.runs.known else []


def end(core: Core, state: SessionState, finished: TurnFinished) -> list[Event]:
    """Where the end of a turn leaves the run it belonged to."""
    run = state.runs.known.get(state.turns.open.run) if state.turns.open else None
    if run is None or run.phase is not RunPhase.RUNNING:
        return []
    progress = state.runs.progress.get(run.run_id)
    after, error = outcome(finished.status, finished.reason, finished.error, bool(progress and progress.done))
    return move(core, run, after, finished.reason, error)


def resume(core: Core, state: SessionState, wanted: str = "") -> tuple[RunTaken, list[Event]]:
    """The run of this project with that id, or the latest one that can be resumed; and the data that it began with,
    where another session has it."""
    every = all_runs(core)
    can = [one for one in every if one[0].phase not in TERMINAL and _free(core, state, one[1])]
    found = [one for one in every if one[0].run_id == wanted] if wanted else can
    if not found:
        rows = [f"{run.run_id}  {run.phase}  {run.workflow_ref}" for run, _ in can[-MOST_NAMED:]]
        raise RunFailed(
            RunErrorCode.PRECONDITION,
            f"there is no run {wanted} in this project" if wanted else "no run can be resumed",
            hint="\n".join(["Runs that can be resumed:", *reversed(rows)]) if rows else "",
        )
    run, session = sorted(found, key=lambda one: one[0].created_at)[-1]
    if run.phase in TERMINAL:
        raise RunFailed(RunErrorCode.PRECONDITION, f"run {run.run_id} is {run.phase}; there is nothing to resume")
    if not _free(core, state, session):
        raise RunFailed(RunErrorCode.PRECONDITION, f"run {run.run_id} is in session {session}, which is open elsewhere")
    events = [] if session == state.session else [one.event for one in core.store.read(session)]
    holder = fold(events) if events else state
    cycle = holder.cycle
    taken = RunTaken(
        run=holder.runs.known[run.run_id],
        progress=holder.runs.progress.get(run.run_id),
        cycle=recorded(structs.replace(cycle, at_work=False)) if cycle and cycle.run == run.run_id else None,
    )
    return taken, _data_of(run.run_id, events)


def _data_of(run: str, events: list[Event]) -> list[Event]:
    """What was loaded for a run when it began, or came along when it was taken."""
    found: list[Event] = []
    opening = ""
    for event in events:
        match event:
            case RunStarted(run=begun) | RunTaken(run=begun):
                opening = begun.run_id
            case TurnStarted():
                opening = ""
            case DataLoaded() if opening == run:
                found.append(event)
    return found


def leave_taken(core: Core, state: SessionState) -> list[Event]:
    """Where another session has taken the active run up, it is no longer this one's."""
    run = state.runs.known.get(state.runs.active)
    if run is None or any(r.run_id == run.run_id and session == state.session for r, session in all_runs(core)):
        return []
    return move(core, run, RunPhase.PAUSED, "resumed in another session")


def all_runs(core: Core) -> list[tuple[RunMetadata, str]]:
    """Every run of the project as it is now, with the session it is in."""
    found: dict[str, tuple[RunMetadata, str]] = {}
    try:
        for session, event in core.store.read_everywhere(KINDS):
            match event:
                case RunStarted(run=run) | RunTaken(run=run):
                    found[run.run_id] = (run, session)
                case RunMoved(run=id) if id in found and found[id][1] == session:
                    run = structs.replace(found[id][0], phase=event.after, updated_at=event.at)
                    found[id] = (run, session)
    except StoreError as error:
        raise RunFailed(RunErrorCode.RUNS_INDEX_INVALID, error.message, hint=error.hint) from None
    return list(found.values())


def _free(core: Core, state: SessionState, session: str) -> bool:
    """Whether a run of that session can be taken from it."""
    return session == state.session or not core.ownership.open_elsewhere(session)
