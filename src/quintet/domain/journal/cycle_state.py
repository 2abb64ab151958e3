"""How far a cycle has come: a fold over its events, a part of the session's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from quintet.domain.agents.run import TERMINAL as OVER
from quintet.domain.journal import cycle_events as c
from quintet.domain.journal.call_events import FilesChanged
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.turn.messages import Usage

if TYPE_CHECKING:
    from quintet.domain.journal.state import SessionState

MOST_CHANGED = 200  # files of one task that are remembered by name
_AT_UNIT = (CyclePhase.PROCESSING, CyclePhase.EXECUTING, CyclePhase.MOVING_COMPLETED)


class CycleState(Struct, frozen=True):
    run: str
    text: str = ""
    submission: str = ""  # what the end of the current stretch answers
    planner: str = ""
    executor: str = ""
    verifier: str = ""
    plans: bool = True
    at_work: bool = False  # false: control is with the person
    phase: CyclePhase = CyclePhase.IDLE
    iteration: int = 0
    planned: int = 0  # plans that were made
    added_nothing: bool = False  # the last of them had no tasks
    pending: str = ""  # the milestone of a plan that waits to be accepted
    accepted: bool = False  # by the user, who gave control back with it
    milestones: tuple[str, ...] = ()
    task: str = ""  # the one that a unit is at
    title: str = ""
    attempt: int = 0
    current: int = 0
    total: int = 0
    units: int = 0
    units_since: int = 0  # since control was last given
    steps_since: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    seconds: float = 0.0
    status: str = ""  # how it stopped last
    reason: str = ""
    changed: tuple[str, ...] = ()  # by the units of the task named below, the first of the files
    changed_by: str = ""
    unsure: str = ""  # a task in whose unit something was being published when it was cut short

    @property
    def scope(self) -> tuple[str, ...] | None:
        """The milestones whose tasks are its own; none: those of the whole project."""
        return self.milestones if self.plans else None


def live(state: SessionState) -> CycleState | None:
    """The cycle that is at work, or that can go on; None if there is none, or it is over."""
    cycle = state.cycle
    run = state.runs.get(cycle.run) if cycle else None
    return cycle if run and run.phase not in OVER else None


def began(event: c.CycleBegan) -> CycleState:
    return CycleState(
        run=event.run,
        text=event.text,
        submission=event.submission,
        planner=event.planner,
        executor=event.executor,
        verifier=event.verifier,
        plans=event.plans,
        at_work=True,
        accepted=not event.plans,
    )


def after(cycle: CycleState, event: Any) -> CycleState:
    """The cycle after one of its own events."""
    match event:
        case c.CycleResumed():
            return structs.replace(
                cycle,
                submission=event.submission,
                at_work=True,
                accepted=bool(cycle.pending),
                unsure="",
                units_since=0,
                steps_since=0,
                status="",
                reason="",
            )
        case c.CycleMoved():
            return _moved(cycle, event)
        case c.PlanMade():
            made = bool(event.tasks)
            return structs.replace(
                cycle,
                planned=cycle.planned + 1,
                added_nothing=not made,
                pending=event.milestone if made else "",
                accepted=False,
                steps_since=cycle.steps_since + 1,
            )
        case c.PlanAccepted():
            owned = (*cycle.milestones, event.milestone)
            return structs.replace(cycle, milestones=owned, pending="", accepted=False)
        case c.TaskVerified():
            return structs.replace(cycle, steps_since=cycle.steps_since + 1)
        case c.CycleStopped():
            return structs.replace(
                cycle,
                at_work=False,
                accepted=False,
                task="",
                title="",
                status=event.status,
                reason=event.reason,
                phase=event.phase,
                seconds=event.seconds,
            )
    return cycle


def _moved(cycle: CycleState, event: c.CycleMoved) -> CycleState:
    unit = event.phase is CyclePhase.EXECUTING
    return structs.replace(
        cycle,
        phase=event.phase,
        iteration=event.iteration,
        task=event.task,
        title=event.title,
        attempt=event.attempt,
        current=event.current or cycle.current,
        total=event.total or cycle.total,
        units=cycle.units + unit,
        units_since=cycle.units_since + unit,
        steps_since=cycle.steps_since + unit,
    )


def spend(state: SessionState, usage: Usage, cost: float) -> None:
    """Count what a request used as the cycle's, while one is at work."""
    cycle = state.cycle
    if cycle and cycle.at_work:
        state.cycle = structs.replace(cycle, usage=cycle.usage.plus(usage), cost=cycle.cost + cost)


def leave_unsure(state: SessionState) -> None:
    """A call that publishes was cut short: nobody knows whether it did, and its unit is not done again unasked."""
    cycle = state.cycle
    if cycle and cycle.at_work and cycle.task:
        state.cycle = structs.replace(cycle, unsure=cycle.task)


def _files_changed(state: SessionState, event: FilesChanged) -> None:
    """What the units of one task changed; another task's begin anew."""
    cycle = state.cycle
    if cycle and cycle.at_work and cycle.task and cycle.phase in _AT_UNIT:
        known = cycle.changed if cycle.changed_by == cycle.task else ()
        paths = tuple(dict.fromkeys((*known, *event.paths)))[:MOST_CHANGED]
        state.cycle = structs.replace(cycle, changed=paths, changed_by=cycle.task)


def _began(state: SessionState, event: c.CycleBegan) -> None:
    state.cycle = began(event)
    state.waiting = [i for i in state.waiting if i.submission != event.submission]


def _changed(state: SessionState, event: Any) -> None:
    if state.cycle and state.cycle.run == event.run:
        state.cycle = after(state.cycle, event)


def _resumed(state: SessionState, event: c.CycleResumed) -> None:
    state.waiting = [i for i in state.waiting if i.submission != event.submission]
    _changed(state, event)


def _stopped(state: SessionState, event: c.CycleStopped) -> None:
    _changed(state, event)
    state.paused = False


def _ended(state: SessionState, event: c.ExecutorEnded) -> None:
    state.usage = state.usage.plus(event.usage)
    state.cost += event.cost
    spend(state, event.usage, event.cost)


HANDLERS: dict[type, Callable[[Any, Any], None]] = {
    c.CycleBegan: _began,
    c.CycleResumed: _resumed,
    c.CycleMoved: _changed,
    c.PlanMade: _changed,
    c.PlanAccepted: _changed,
    c.TaskVerified: _changed,
    c.CycleStopped: _stopped,
    c.ExecutorEnded: _ended,
    FilesChanged: _files_changed,
}
