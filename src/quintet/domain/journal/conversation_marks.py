"""Marks in a conversation: where it stood before each turn, so that the user can go back to there.

Lists of a state are only ever added to, or given up for new ones, so a mark holds the list itself and how long it was:
nothing is copied, and marking costs the same however long the conversation is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from quintet.domain.turn.compression import CallOutcome, Summary
from quintet.domain.turn.messages import Message
from quintet.domain.turn.qa_report import QaReport
from quintet.domain.turn.swe_phases import PhaseState
from quintet.domain.turn.todos import Todo

if TYPE_CHECKING:
    from quintet.domain.journal.state import SessionState

MOST_MARKS = 200


class Mark(Struct, frozen=True):
    messages: list[Message]
    count: int
    requests: list[str]
    requested: int
    summary: Summary | None
    outcomes: dict[str, CallOutcome]
    todos: dict[str, Todo]
    toolset: str
    swe: PhaseState | None
    delivery: str
    qa: QaReport | None
    qa_told: bool


def set_mark(state: SessionState, point: str) -> None:
    state.marks[point] = Mark(
        state.messages,
        len(state.messages),
        state.requests,
        len(state.requests),
        state.summary,
        state.outcomes,
        dict(state.todos),
        state.toolset,
        state.swe,
        state.delivery,
        state.qa,
        state.qa_told,
    )
    if len(state.marks) > MOST_MARKS:
        del state.marks[next(iter(state.marks))]


def go_back(state: SessionState, point: str) -> None:
    """The conversation as it was at the mark. What it cost stays spent, and the dials stay where they are."""
    mark = state.marks.get(point)
    if mark is None:
        return
    state.messages = mark.messages[: mark.count]
    state.requests = mark.requests[: mark.requested]
    state.summary = mark.summary
    state.outcomes = dict(mark.outcomes)
    state.todos = dict(mark.todos)
    state.toolset, state.swe = mark.toolset, mark.swe
    state.delivery, state.qa, state.qa_told = mark.delivery, mark.qa, mark.qa_told
    state.order, state.interrupted = None, False
