"""A small campaign of `scripts/faults owners`: owners come and go, and each input is run once."""

from __future__ import annotations

from pathlib import Path

from owners import Owners


def test_each_input_is_run_once_while_owners_are_killed_and_stopped(repo: Path) -> None:
    outcome = Owners(repo, inputs=10, senders=4, seed=1, stall=300.0).run()
    assert outcome.problems == []
    assert len(outcome.codes) == 10
