"""What becomes of due times, as tables."""

from itertools import product

import pytest

from quintet.features.schedule.plan import LATER, MISSED, RUNNING, TOO_MANY, WAITS, DuePlan, due_plan
from quintet.features.schedule.values import MOVES, DueStatus, MissedRuns, may_move

LEGAL = {
    "queued": {"due", "expired"},
    "due": {"claimed", "expired"},
    "claimed": {"dispatched", "due", "expired"},
    "dispatched": {"consumed"},
    "consumed": set[str](),
    "expired": set[str](),
}


def test_the_legal_moves() -> None:
    assert set(MOVES) == set(DueStatus)
    for before, after in product(DueStatus, DueStatus):
        assert may_move(before, after) == (after in LEGAL[before]), (before, after)


def test_nothing_that_was_dispatched_is_ever_due_again() -> None:
    reached, fresh = {DueStatus.DISPATCHED}, {DueStatus.DISPATCHED}
    while fresh := {after for before in fresh for after in MOVES[before]} - reached:
        reached |= fresh
    assert reached == {DueStatus.DISPATCHED, DueStatus.CONSUMED}


T = (100, 200, 300)  # three times while the machine slept
PLANS = {
    # policy, now, waiting, running → run, expire
    (MissedRuns.ONCE, 1_000, 0, False): ((300,), ((100, LATER), (200, LATER))),
    (MissedRuns.SKIP, 1_000, 0, False): ((), ((100, MISSED), (200, MISSED), (300, MISSED))),
    (MissedRuns.SKIP, 310, 0, False): ((300,), ((100, MISSED), (200, MISSED))),
    (MissedRuns.SKIP, 310, 0, True): ((), ((100, MISSED), (200, MISSED), (300, RUNNING))),
    (MissedRuns.ALL, 1_000, 0, False): (T, ()),
    (MissedRuns.ALL, 1_000, 4, False): ((300,), ((100, TOO_MANY), (200, TOO_MANY))),
    (MissedRuns.ALL, 1_000, 5, True): ((), ((100, TOO_MANY), (200, TOO_MANY), (300, TOO_MANY))),
    (MissedRuns.ONCE, 310, 1, False): ((), ((100, MISSED), (200, MISSED), (300, WAITS))),
    (MissedRuns.ONCE, 310, 0, True): ((300,), ((100, LATER), (200, LATER))),
}


@pytest.mark.parametrize("case", PLANS, ids=str)
def test_three_due_times_by_each_policy(case: tuple[MissedRuns, int, int, bool]) -> None:
    policy, now, waiting, running = case
    run, expire = PLANS[case]
    made = due_plan(T, now, policy, next_time=400, late=60, most=5, waiting=waiting, running=running)
    assert made == DuePlan(run, expire, 400)


@pytest.mark.parametrize("policy", MissedRuns)
def test_every_time_is_either_run_or_expired(policy: MissedRuns) -> None:
    for now, waiting, running in product((300, 5_000), (0, 1, 9), (False, True)):
        made = due_plan(T, now, policy, next_time=None, late=60, most=5, waiting=waiting, running=running)
        assert sorted((*made.run, *(time for time, _ in made.expire))) == [*T]
    assert due_plan((), 0, policy, next_time=7, late=60, most=5) == DuePlan(next=7)
