"""When a turned dial takes effect: transitions, their scopes, and the moments they land.

Pure: `landing` says, for a transition and what is going on now, whether it lands at once or waits; `due` says which
waiting ones land at a boundary. Only Session turns dials, for the user or for a rule the user wrote.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.dials.axes import Axes, AxesChange


class Scope(StrEnum):
    NOW = "now"
    AFTER_CURRENT_TOOL = "after-current-tool"
    AFTER_CURRENT_UNIT = "after-current-unit"
    NEXT_MILESTONE = "next-milestone"
    FOR_NEXT_UNIT = "for-next-unit"


class Actor(StrEnum):
    USER = "user"
    RULE = "rule"  # a standing rule the user wrote


REMOTE = "remote:"  # an actor who answers from elsewhere begins so: remote:CHANNEL/ACCOUNT


class Boundary(StrEnum):
    """Moments between the parts of a run at which a waiting transition may land."""

    TOOL_END = "tool-end"
    UNIT_END = "unit-end"
    UNIT_START = "unit-start"
    MILESTONE_END = "milestone-end"


class Activity(Struct, frozen=True):
    """What is going on at the moment a dial is turned."""

    tool: bool = False
    unit: bool = False


class Transition(Struct, frozen=True):
    id: str
    change: AxesChange
    scope: Scope = Scope.NOW
    actor: str = Actor.USER  # or remote:CHANNEL/ACCOUNT
    reason: str = ""


class Loan(Struct, frozen=True):
    """A `for-next-unit` change in force: what to put back when the unit ends."""

    transition: Transition
    before: Axes


def landing(scope: Scope, activity: Activity) -> bool:
    """Whether a transition of this scope lands at once."""
    match scope:
        case Scope.NOW | Scope.AFTER_CURRENT_TOOL:
            return not activity.tool
        case Scope.AFTER_CURRENT_UNIT:
            return not activity.unit
        case Scope.NEXT_MILESTONE | Scope.FOR_NEXT_UNIT:
            return False


_LANDS_AT: dict[Scope, frozenset[Boundary]] = {
    Scope.NOW: frozenset(Boundary),
    Scope.AFTER_CURRENT_TOOL: frozenset(Boundary),
    Scope.AFTER_CURRENT_UNIT: frozenset({Boundary.UNIT_END, Boundary.UNIT_START, Boundary.MILESTONE_END}),
    Scope.NEXT_MILESTONE: frozenset({Boundary.MILESTONE_END}),
    Scope.FOR_NEXT_UNIT: frozenset({Boundary.UNIT_START}),
}


def due(pending: tuple[Transition, ...], boundary: Boundary) -> tuple[Transition, ...]:
    """The waiting transitions that land at this boundary, in the order they were asked for."""
    return tuple(t for t in pending if boundary in _LANDS_AT[t.scope])
