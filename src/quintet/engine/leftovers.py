"""What an owner that is gone left open in a session, closed: calls, questions, the turn."""

from __future__ import annotations

from quintet.domain.protocol import Event, ToolFinished, TurnFinished
from quintet.domain.state import OUTCOME_UNKNOWN, SessionState
from quintet.domain.steering import Boundary
from quintet.domain.toolspec import CallStatus
from quintet.engine import dials, questions, runs
from quintet.engine.core import Core


def leftovers(core: Core, state: SessionState) -> list[Event]:
    events: list[Event] = [
        ToolFinished(call=c, tool=s.tool, status=CallStatus.INTERRUPTED, content=OUTCOME_UNKNOWN)
        for c, s in state.running.items()
    ]
    events += [questions.closed(question, "its process ended") for question in state.questions]
    if state.turn:
        ending = TurnFinished(
            turn=state.turn.turn, status="interrupted", reason="its process ended", steps=state.turn.steps
        )
        events += [*runs.ended(core, state, ending), ending]
        events += dials.reach(state, Boundary.UNIT_END)
    return events
