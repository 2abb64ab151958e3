"""Over random dials, accepts, pauses, refusals, kills and resumes no task is lost, unproven or retried for a refusal.

The seeds are the same in every run; `scripts/faults dials` tries fresh ones.
"""

from pathlib import Path

import pytest
from campaign_dials import run

SEEDS = (2, 8, 10, 11, 201, 202, 205, 206, 212, 213, 225, 416)


@pytest.mark.parametrize("seed", SEEDS)
def test_s3_whatever_is_turned_and_killed_every_task_stays_what_it_is(tmp_path: Path, seed: int) -> None:
    assert run(tmp_path / "run", seed) == []
