"""The decisions of workers under crashes, pauses, partitions, wrong clocks and late messages, in simulated time."""

import pytest

from tests.domain.workers.mutants import MUTANTS
from tests.domain.workers.simulator import Faults, Simulation

ROUGH = Faults(crash=0.01, pause=0.02, cut=0.01, late=0.1, twice=0.15, user_commit=0.3, tangled=0.3)
CALM = Faults(crash=0.0, pause=0.0, cut=0.0, lost=0.0, late=0.0, user_commit=0.0, tangled=0.6)
WORKERS, TASKS, SEEDS = 12, 120, range(4)


def test_no_task_is_lost_or_done_twice_and_nothing_is_written_late() -> None:
    met = set()
    for seed in SEEDS:
        made = Simulation(seed, WORKERS, TASKS, faults=ROUGH).run(20_000)
        assert dict(made.wrong) == {}, seed
        met |= set(made.seen)
    assert met >= {"crash", "pause", "cut", "lost", "late", "refused", "gave up", "waited", "sent back"}


def test_the_same_seed_gives_the_same_run() -> None:
    one, two = (Simulation(7, WORKERS, TASKS, faults=ROUGH).run(20_000) for _ in range(2))
    assert (one.events, one.now, one.seen) == (two.events, two.now, two.seen)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_rule_is_needed(mutant: str) -> None:
    faults = CALM if mutant == "nobody gives way" else ROUGH
    found = [Simulation(seed, WORKERS, TASKS, MUTANTS[mutant](), faults).run(2_000).wrong for seed in SEEDS]
    assert any(found), "a rule that can be broken unseen is not tested"
