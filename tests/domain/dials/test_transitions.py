"""Where a turned dial lands: each scope at its moment, and a loan that goes back by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.dials.axes import INTERACTIVE, Axes, AxesChange, ModelMode, PermissionProfile, WorkMode
from quintet.domain.dials.transitions import Activity, Boundary, Scope, Transition, due, landing
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import SessionState, fold
from quintet.engine.session import dials
from quintet.testing import CountingIds
from tests.domain.dials.test_axes import CHANGES

IDLE, THINKING, TOOL = Activity(), Activity(unit=True), Activity(tool=True, unit=True)
RESTRICT = AxesChange(permission_profile=PermissionProfile.RESTRICTED)


@pytest.mark.parametrize(
    ("scope", "idle", "thinking", "tool"),
    [
        (Scope.NOW, True, True, False),
        (Scope.AFTER_CURRENT_TOOL, True, True, False),
        (Scope.AFTER_CURRENT_UNIT, True, False, False),
        (Scope.NEXT_MILESTONE, False, False, False),
        (Scope.FOR_NEXT_UNIT, False, False, False),
    ],
)
def test_s3_4_2_when_a_scope_lands_at_once(scope: Scope, idle: bool, thinking: bool, tool: bool) -> None:
    assert (landing(scope, IDLE), landing(scope, THINKING), landing(scope, TOOL)) == (idle, thinking, tool)


@pytest.mark.parametrize(
    ("scope", "boundaries"),
    [
        (Scope.NOW, set(Boundary)),
        (Scope.AFTER_CURRENT_TOOL, set(Boundary)),
        (Scope.AFTER_CURRENT_UNIT, {Boundary.UNIT_END, Boundary.UNIT_START, Boundary.MILESTONE_END}),
        (Scope.NEXT_MILESTONE, {Boundary.MILESTONE_END}),
        (Scope.FOR_NEXT_UNIT, {Boundary.UNIT_START}),
    ],
)
def test_s3_4_2_where_a_waiting_scope_lands(scope: Scope, boundaries: set[Boundary]) -> None:
    waiting = Transition("t", RESTRICT, scope)
    assert {boundary for boundary in Boundary if due((waiting,), boundary)} == boundaries


def run(state: SessionState, *events: p.Event) -> None:
    for event in events:
        state.apply(event)


def opened(axes: Axes = INTERACTIVE) -> SessionState:
    return fold([p.SessionOpened(session="s", project="/p", axes=axes, program="0")])


def test_a_loan_for_the_next_unit_goes_back_when_the_unit_ends() -> None:
    state = opened()
    wanted = dials.new(CountingIds(), AxesChange(model_mode=ModelMode.DEEP), Scope.FOR_NEXT_UNIT, "/steer")
    run(state, dials.turn(state, wanted, IDLE))
    assert state.axes == INTERACTIVE and state.dials.pending == (wanted,)
    run(state, *dials.reach(state, Boundary.UNIT_START))
    assert state.axes.model_mode is ModelMode.DEEP and state.dials.pending == ()
    run(state, *dials.reach(state, Boundary.UNIT_END))
    assert state.axes == INTERACTIVE and state.dials.loans == ()


def test_a_loan_does_not_take_back_what_the_user_turned_meanwhile() -> None:
    state = opened()
    ids = CountingIds()
    change = AxesChange(model_mode=ModelMode.DEEP, work_mode=WorkMode.BUILD)
    run(state, dials.turn(state, dials.new(ids, change, Scope.FOR_NEXT_UNIT, ""), IDLE))
    run(state, *dials.reach(state, Boundary.UNIT_START))
    faster = dials.new(ids, AxesChange(model_mode=ModelMode.FAST), Scope.NOW, "")
    run(state, dials.turn(state, faster, THINKING))
    run(state, *dials.reach(state, Boundary.UNIT_END))
    assert state.axes == Axes(model_mode=ModelMode.FAST)


def test_a_milestone_scope_stays_pending_in_view() -> None:
    state = opened()
    run(state, dials.turn(state, dials.new(CountingIds(), RESTRICT, Scope.NEXT_MILESTONE, ""), IDLE))
    for boundary in (Boundary.TOOL_END, Boundary.UNIT_END, Boundary.UNIT_START):
        run(state, *dials.reach(state, boundary))
    assert len(state.dials.pending) == 1 and state.axes == INTERACTIVE
    run(state, *dials.reach(state, Boundary.MILESTONE_END))
    assert state.dials.pending == () and state.axes.permission_profile is PermissionProfile.RESTRICTED


MOVES = st.lists(
    st.tuples(CHANGES, st.sampled_from(Scope))
    | st.sampled_from([Boundary.TOOL_END, Boundary.UNIT_END, Boundary.UNIT_START]),
    max_size=30,
)


@given(MOVES)
def test_dials_change_only_by_transitions_that_say_before_and_after(
    moves: list[tuple[AxesChange, Scope] | Boundary],
) -> None:
    state, ids = opened(), CountingIds()
    for move in moves:
        if isinstance(move, Boundary):
            events = dials.reach(state, move)
        else:
            events = [dials.turn(state, dials.new(ids, move[0], move[1], "test"), THINKING)]
        for event in events:
            before = state.axes
            state.apply(event)
            if isinstance(event, p.DialsTurned):
                assert event.before == before and event.after == state.axes
            else:
                assert state.axes == before
