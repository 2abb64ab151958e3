"""A cycle whose process is killed again and again, wherever it stands, ends as if nothing had happened."""

import random
import signal
from pathlib import Path

from cycle_checks import broken, follow, outcome, project, writes_of
from cycle_victim import TASKS

KILLS = 5


def test_s4_a_cycle_of_ten_tasks_survives_kills_at_any_moment(tmp_path: Path) -> None:
    whole = project(tmp_path / "whole")
    most = writes_of(whole) // KILLS
    expected = outcome(whole)
    assert expected[3] == ["done"] and len(expected[1]) == TASKS and broken(whole) == []  # type: ignore[arg-type]

    cut = project(tmp_path / "cut")
    dice = random.Random(7)
    for _ in range(KILLS):
        assert follow(cut, dice.randint(most // 2, most)) == -signal.SIGKILL
        assert broken(cut) in ([], [f"{claim} is still claimed" for claim in _claimed(cut)])
    assert follow(cut) == 0
    assert outcome(cut) == expected
    assert broken(cut) == []


def _claimed(folder: Path) -> list[str]:
    return [line.split()[0] for line in broken(folder) if line.endswith("is still claimed")]
