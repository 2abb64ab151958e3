"""What listings and `status` show of a session, kept beside its journal so that they need not read it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from quintet.domain.agents.run import RunMetadata
from quintet.domain.dials.axes import INTERACTIVE, Axes
from quintet.domain.dials.transitions import Transition
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.roles import CycleRoles
from quintet.domain.turn.messages import Usage

if TYPE_CHECKING:
    from quintet.domain.journal.cycle_state import CycleState
    from quintet.domain.journal.state import SessionState


class SessionStatus(StrEnum):
    """What a session is doing."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING = "waiting"  # for an answer
    INTERRUPTED = "interrupted"  # its last turn was cut off and can be resumed


AT_WORK = frozenset({SessionStatus.RUNNING, SessionStatus.WAITING, SessionStatus.PAUSED})


class CycleBrief(Struct, frozen=True):
    """What listings and `status` show of a cycle."""

    run: str
    phase: CyclePhase
    status: str  # running, or how it stopped
    iteration: int
    units: int
    task: str
    title: str
    current: int
    total: int
    planner: str
    executor: str
    verifier: str
    reason: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    seconds: float = 0.0  # until it last stopped


class ShellBrief(Struct, frozen=True):
    """A background shell of the session's process, as far as the journal knows."""

    name: str
    line: str


class SessionSummary(Struct, frozen=True):
    axes: Axes = INTERACTIVE
    status: SessionStatus = SessionStatus.IDLE
    paused: bool = False
    turns: int = 0
    steps: int = 0
    cost: float = 0.0
    usage: Usage = Usage()
    model: str = ""
    pending: tuple[Transition, ...] = ()
    waiting: tuple[str, ...] = ()  # the texts of open questions
    checkpoint: str = ""  # the turn or rewind before which the newest was taken
    agent: str = ""  # who is spoken with
    run: RunMetadata | None = None  # the active run
    cycle: CycleBrief | None = None  # the newest
    skipped: int = 0  # calls of the newest run that nobody could approve
    calls: int = 0  # of the turn that is under way
    shells: tuple[ShellBrief, ...] = ()
    executors: CycleRoles = CycleRoles()  # that were chosen for the session
    used: bool = True  # something was done or turned in it; not if it was only looked into
    begun_by: str | UnsetType = UNSET  # worker, schedule or what a script says; unset: a person


def summarise(state: SessionState) -> SessionSummary:
    return SessionSummary(
        axes=state.axes,
        status=state.status,
        paused=state.turns.paused,
        turns=state.turns.count,
        steps=state.turns.open.steps if state.turns.open else 0,
        cost=state.spent.cost,
        usage=state.spent.usage,
        model=state.dials.model,
        pending=state.dials.pending,
        waiting=tuple(question.text for question in state.questions.values()),
        checkpoint=state.checkpoint.point if state.checkpoint else "",
        agent=state.runs.agent.id if state.runs.agent else "",
        run=state.runs.known.get(state.runs.active),
        cycle=brief(state.cycle) if state.cycle else None,
        skipped=state.turns.skipped,
        calls=state.turns.open.calls if state.turns.open else 0,
        executors=state.executors,
        used=state.used,
        begun_by=state.runs.begun_by or UNSET,
        shells=tuple(ShellBrief(name, line) for name, line in state.calls.shells.items()),
    )


def brief(cycle: CycleState) -> CycleBrief:
    status = "running" if cycle.at_work else cycle.status
    where = (
        cycle.iteration,
        cycle.spent.units,
        cycle.unit.task,
        cycle.unit.title,
        cycle.unit.current,
        cycle.unit.total,
    )
    return CycleBrief(
        cycle.run,
        cycle.phase,
        status,
        *where,
        cycle.roles.planner,
        cycle.roles.executor,
        cycle.roles.verifier,
        cycle.reason,
        cycle.spent.usage,
        cycle.spent.cost,
        cycle.spent.seconds,
    )
