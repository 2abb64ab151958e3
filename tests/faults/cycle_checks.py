"""What a cycle of ten tasks left behind, and whether it broke a promise on the way."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.domain.journal import protocol as p
from quintet.domain.tasks.task import AT_WORK, TaskStatus

VICTIM = Path(__file__).parent / "cycle_victim.py"
ROOT = Path(__file__).parent.parent.parent
SECONDS = 120


def project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--template=", str(folder)], check=True)
    return folder


def follow(folder: Path, writes: int | None = None) -> int:
    """Run the cycle, or go on with it, until it ends or its process kills itself; returns the exit code."""
    number = [] if writes is None else [str(writes)]
    victim = [sys.executable, str(VICTIM), str(folder), *number]
    return subprocess.run(victim, cwd=ROOT, timeout=SECONDS, stdout=subprocess.DEVNULL).returncode


def writes_of(folder: Path) -> int:
    """Run a cycle that is left alone; how many durable writes it made."""
    victim = [sys.executable, str(VICTIM), str(folder)]
    return int(subprocess.run(victim, cwd=ROOT, timeout=SECONDS, capture_output=True, check=True).stdout)


def outcome(folder: Path) -> tuple[object, ...]:
    """What a cycle is for: its tasks, its files, its pages."""
    path = locate(str(folder)).database
    tasks = {task.id: (str(task.status), task.title, task.retries) for task in _rows(folder).tasks()}
    files = {made.name: made.read_text() for made in sorted((folder / "out").iterdir())}
    todo = folder / ".quintet" / "todo"
    names = (str(page.relative_to(todo)) for page in todo.rglob("*") if page.is_file())
    pages = sorted(re.sub(r"_\d{8}_\d{6}(-\d+)?\.md$", ".md", name) for name in names)  # when is another matter
    rows = Rows(connect_to_read(path), path)
    events = [recorded.event for recorded in rows.read(rows.sessions(1)[0].id)]
    ends = [event.status for event in events if isinstance(event, p.CycleStopped)][-1:]
    return tasks, files, pages, ends


def broken(folder: Path) -> list[str]:
    """Promises that the tasks' own log shows broken: done that did not stay done, two units of a task at once."""
    found, rows = [], _rows(folder)
    for task in rows.tasks():
        at_work = False
        before = None
        for move in rows.moves(task.id):
            if move.before is TaskStatus.DONE:
                found.append(f"{task.id} was done and became {move.after}")
            if move.before != before:
                found.append(f"{task.id} moved from {move.before}, and was {before}")
            if move.after is TaskStatus.RUNNING and at_work:
                found.append(f"{task.id} was begun while it was at work")
            before, at_work = move.after, move.after in AT_WORK
    found += [f"{claim} is still claimed" for claim in rows.claims()]
    return found


def _rows(folder: Path) -> TaskRows:
    path = locate(str(folder)).database
    return TaskRows(connect_to_read(path), path)
