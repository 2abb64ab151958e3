"""What an owner that is gone left open in a session, closed: calls, questions, the turn."""

from __future__ import annotations

from quintet.domain.agents.run import RunPhase
from quintet.domain.dials.transitions import Boundary
from quintet.domain.journal.conversation_state import OUTCOME_UNKNOWN
from quintet.domain.journal.protocol import CycleStopped, Event, ToolFinished, TurnFinished
from quintet.domain.journal.state import SessionState
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.agents import runs
from quintet.engine.session import dials, questions
from quintet.engine.session.core import Core


def close_leftovers(core: Core, state: SessionState) -> list[Event]:
    events: list[Event] = [
        ToolFinished(call=c, tool=s.tool, status=CallStatus.INTERRUPTED, content=_cut_short(core, s.tool))
        for c, s in state.calls.running.items()
    ]
    events += [questions.closed(question, "its process ended") for question in state.questions]
    if state.turns.open:
        ending = TurnFinished(
            turn=state.turns.open.turn,
            status=EndStatus.INTERRUPTED,
            reason="its process ended",
            steps=state.turns.open.steps,
            cycle=state.cycle.run if state.cycle and state.cycle.at_work else "",
        )
        events += [*runs.end(core, state, ending), ending]
        events += dials.reach(state, Boundary.UNIT_END)
    return events + _cycle(core, state)


def _cut_short(core: Core, tool: str) -> str:
    spec = core.turn.toolbox.specs.get(tool)
    return (spec.course.cut_short if spec else "") or OUTCOME_UNKNOWN


def _cycle(core: Core, state: SessionState) -> list[Event]:
    """A cycle that was at work waits for somebody to let it go on; its tasks are put in order then."""
    cycle = state.cycle
    if cycle is None or not cycle.at_work:
        return []
    stopped = CycleStopped(
        run=cycle.run,
        submission=cycle.submission,
        status=EndStatus.INTERRUPTED,
        phase=cycle.phase,
        reason="its process ended",
        units=cycle.spent.units,
        iterations=cycle.iteration,
        seconds=cycle.spent.seconds,
        usage=cycle.spent.usage,
        cost=cycle.spent.cost,
    )
    run = state.runs.known.get(cycle.run)
    waits = run and run.phase is RunPhase.RUNNING and not (state.turns.open and state.turns.open.run == cycle.run)
    return [stopped, *(runs.move(core, run, RunPhase.WAITING_USER, "its process ended") if run and waits else [])]
