"""A workflow whose process is killed again and again, between and inside its steps, ends as if nothing had happened."""

import random
import signal
import subprocess
import sys
from pathlib import Path

from tests.engine.packages import item, row, write

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.agents.run import RunPhase
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold

VICTIM = Path(__file__).parent / "workflow_victim.py"
STEPS = 10
KILLS = 7
ROOT = Path(__file__).parent.parent.parent


def project(folder: Path) -> Path:
    files = row("tally", *[f"Do {number}." for number in range(1, STEPS + 1)])
    write(folder / ".quintet" / "agents" / "crew", "crew", [item("tally", workflow="tally")], files)
    subprocess.run(["git", "init", "-q", "--template=", str(folder)], check=True)
    return folder


def follow(folder: Path, events: int | None = None) -> int:
    number = [] if events is None else [str(events)]
    return subprocess.run([sys.executable, str(VICTIM), str(folder), *number], cwd=ROOT, timeout=60).returncode


def journal(folder: Path) -> list[p.Event]:
    path = locate(str(folder)).database
    rows = Rows(connect_to_read(path), path)
    return [recorded.event for recorded in rows.read(rows.sessions(1)[0].id)]


def outcome(folder: Path) -> tuple[object, ...]:
    """What the run left: its way through the workflow, its files, the results it kept."""
    events = journal(folder)
    finished = [(event.node, event.way, event.result) for event in events if isinstance(event, p.StepFinished)]
    state = fold(events)
    (run,) = state.runs.known.values()
    kept = Path(locate(str(folder)).runs, run.run_id)
    files = {path.name: path.read_text() for path in (folder / "out").iterdir()}
    results = {path.name: path.read_text() for path in kept.glob("*.md")}
    return finished, run.phase, files, results


def test_a_workflow_of_ten_steps_survives_kills_between_and_inside_its_steps(tmp_path: Path) -> None:
    whole = project(tmp_path / "whole")
    assert follow(whole) == 0
    expected = outcome(whole)
    assert expected[1] is RunPhase.COMPLETED and len(expected[2]) == STEPS == len(expected[3])  # type: ignore[arg-type]

    cut = project(tmp_path / "cut")
    dice = random.Random(5)
    kills = 0
    while kills < KILLS and (code := follow(cut, dice.randint(8, 24))) != 0:
        assert code == -signal.SIGKILL
        kills += 1
    assert kills == KILLS
    assert follow(cut) == 0
    assert outcome(cut) == expected
    calls = [event.call for event in journal(cut) if isinstance(event, p.ToolStarted)]
    assert len(set(calls)) == len(calls)


def test_each_step_that_is_finished_is_one_event_and_the_next_begins_after_a_kill_right_behind_it(
    tmp_path: Path,
) -> None:
    folder = project(tmp_path / "project")
    assert follow(folder) == 0
    kinds = [type(event) for event in journal(folder)]
    behind = kinds.index(p.StepFinished) + 1  # events until the first step is finished
    again = project(tmp_path / "again")
    assert follow(again, behind) == -signal.SIGKILL
    done = [event.node for event in journal(again) if isinstance(event, p.StepFinished)]
    assert done == ["step-01-s"]
    assert follow(again) == 0
    assert outcome(again) == outcome(folder)
