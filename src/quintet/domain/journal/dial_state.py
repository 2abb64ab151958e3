"""Where the dials stand, and what is to land later: a part of the session's state, folded from their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from quintet.domain.dials.axes import INTERACTIVE, Axes
from quintet.domain.dials.transitions import Loan, Scope, Transition
from quintet.domain.journal.session_events import (
    DialsTurned,
    ModelChosen,
    ReasoningSwitched,
    TransitionDropped,
    TransitionPending,
)


class DialState(Struct):
    axes: Axes = INTERACTIVE
    pending: tuple[Transition, ...] = ()
    loans: tuple[Loan, ...] = ()  # turned for one unit, to be turned back after it
    model: str = ""  # that the user named; empty: by the routing table
    reasoning: bool = False  # whether the user wants visible reasoning


def _turned(dials: DialState, event: DialsTurned) -> None:
    dials.axes = event.after
    landed = next((t for t in dials.pending if t.id == event.transition), None)
    dials.pending = tuple(t for t in dials.pending if t.id != event.transition)
    if event.scope is Scope.FOR_NEXT_UNIT:
        if landed:
            dials.loans = (*dials.loans, Loan(landed, event.before))
        else:
            dials.loans = tuple(loan for loan in dials.loans if loan.transition.id != event.transition)


def _pending(dials: DialState, event: TransitionPending) -> None:
    waiting = Transition(event.transition, event.change, event.scope, event.actor, event.reason)
    dials.pending = (*dials.pending, waiting)


def _dropped(dials: DialState, event: TransitionDropped) -> None:
    dials.pending = tuple(t for t in dials.pending if t.id != event.transition)
    dials.loans = tuple(loan for loan in dials.loans if loan.transition.id != event.transition)


def _model_chosen(dials: DialState, event: ModelChosen) -> None:
    dials.model = event.name


def _reasoning_switched(dials: DialState, event: ReasoningSwitched) -> None:
    dials.reasoning = event.enabled


FOLDS: dict[type, Callable[[DialState, Any], None]] = {
    DialsTurned: _turned,
    TransitionPending: _pending,
    TransitionDropped: _dropped,
    ModelChosen: _model_chosen,
    ReasoningSwitched: _reasoning_switched,
}
