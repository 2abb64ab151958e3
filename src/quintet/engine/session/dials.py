"""Turning the dials: the one place that writes transitions.

Asked for by the user or by the user's standing rule, never by a stage, a model, a tool or a prompt: nothing below
Session holds a reference to this.
"""

from __future__ import annotations

from quintet.domain.dials.axes import Axes, AxesChange
from quintet.domain.dials.transitions import Activity, Actor, Boundary, Scope, Transition, due, landing
from quintet.domain.journal.protocol import DialsTurned, Event, TransitionDropped, TransitionPending
from quintet.domain.journal.state import SessionState
from quintet.domain.ports.ports import Ids


def turn(state: SessionState, transition: Transition, activity: Activity) -> DialsTurned | TransitionPending:
    """The event for a dial turned now: landed, or pending until its scope."""
    if landing(transition.scope, activity):
        return _landed(transition, state.axes)
    return TransitionPending(
        transition=transition.id,
        change=transition.change,
        scope=transition.scope,
        actor=transition.actor,
        reason=transition.reason,
        axes=state.axes,
    )


def reach(state: SessionState, boundary: Boundary) -> list[Event]:
    """The events of everything that lands, or goes back, at this boundary."""
    events: list[Event] = []
    axes = state.axes
    if boundary in (Boundary.UNIT_END, Boundary.MILESTONE_END):
        for loan in reversed(state.dials.loans):
            back = loan.transition.change.undone(loan.before, axes)
            after = back.applied_to(axes)
            events.append(
                DialsTurned(
                    transition=loan.transition.id,
                    before=axes,
                    after=after,
                    actor=loan.transition.actor,
                    reason="the task it was for has ended",
                    scope=Scope.FOR_NEXT_UNIT,
                    change=back,
                )
            )
            axes = after
    for transition in due(state.dials.pending, boundary):
        event = _landed(transition, axes)
        events.append(event)
        axes = event.after
    return events


def after(state: SessionState, boundary: Boundary) -> Axes:
    """Where the dials stand once a boundary is passed."""
    landed = [event for event in reach(state, boundary) if isinstance(event, DialsTurned)]
    return landed[-1].after if landed else state.axes


def drop_all(state: SessionState, reason: str) -> list[Event]:
    return [TransitionDropped(transition=waiting.id, reason=reason) for waiting in state.dials.pending]


def drop(state: SessionState, field: str, reason: str) -> list[Event]:
    """The end of what waits for one dial."""
    waiting = [one for one in state.dials.pending if getattr(one.change, field) is not None]
    return [TransitionDropped(transition=one.id, reason=reason) for one in waiting]


def new(ids: Ids, change: AxesChange, scope: Scope, reason: str, actor: Actor = Actor.USER) -> Transition:
    return Transition(ids.new("t"), change, scope, actor, reason)


def _landed(transition: Transition, axes: Axes) -> DialsTurned:
    return DialsTurned(
        transition=transition.id,
        before=axes,
        after=transition.change.applied_to(axes),
        actor=transition.actor,
        reason=transition.reason,
        scope=transition.scope,
        change=transition.change,
    )
