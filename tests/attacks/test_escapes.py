"""A dozen of the escape campaign's repositories, two on each surface; `scripts/faults escape` opens thousands."""

import pytest

from tests.attacks.escapes import SURFACES, run
from tests.attacks.hatchery import hatchery, me

SEEDS = range(211, 223)


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_gets_out_of_a_hostile_repository(seed: int) -> None:
    result = run(seed, hatchery(me().name))
    assert result.findings == [], result


def test_every_surface_is_among_them() -> None:
    assert {SURFACES[seed % len(SURFACES)] for seed in SEEDS} == set(SURFACES)
