"""The second wall holds alone: a share of the attacks, run for real. `scripts/faults wall` runs them all."""

from pathlib import Path

import pytest
from tests.faults.second_wall import assault, attacks

PARTS = 4
EVERY = 8


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("part", range(PARTS))
def test_an_attack_the_gate_let_through_reaches_nothing(tmp_path: Path, part: int) -> None:
    lines = attacks()[part::PARTS][::EVERY]
    assert len(lines) > 25
    assert assault(tmp_path, lines, kept=part % 2 == 1) == []
