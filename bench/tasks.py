"""What looking at a project's tasks costs: the scan of rows and files, the list and what waits, the next task, a board.

python bench/tasks.py [--rounds 15] [--json]. At 100, 1,000 and 10,000 tasks, best of the rounds, CPU time of this
thread (and by the clock on the wall, which other processes share); beside it, in the same rounds, the bare
minimum: `scandir` with `stat` over the same files and one SELECT of the same rows. Growth is linear if the ratio to
that does not rise with the number.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from time import perf_counter_ns, thread_time_ns
from typing import Any

from _table import say, table, verdict

from quintet.adapters.sqlite.database import connect, connect_to_read
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.tasks.cycle import board
from quintet.domain.tasks.drift import scan
from quintet.domain.tasks.order import dependency_problems, next_task
from quintet.domain.tasks.page import write_page
from quintet.domain.tasks.task import Intent, Task, TaskStatus, TaskText, place
from quintet.engine.cycle.task_tables import list_lines

SIZES = (100, 1_000, 10_000)
TARGET_MS = 20.0
MOST_GROWTH = 1.5  # of the ratio to the bare minimum, from 100 tasks to 10,000
STATUSES = (TaskStatus.DONE, TaskStatus.VERIFYING, TaskStatus.TODO, TaskStatus.TODO, TaskStatus.RETRYING)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="of each (15)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    figures = [_measure(size, max(wanted.rounds, 1)) for size in SIZES]
    growth = figures[-1]["ratio"] / figures[0]["ratio"]
    summary = {
        "sizes": figures,
        "target_ms": TARGET_MS,
        "met": figures[1]["all_ms"] <= TARGET_MS,
        "growth_of_ratio": round(growth, 2),
        "linear": growth <= MOST_GROWTH,
    }
    say(_text(summary), summary, wanted.json)
    return 0


def _measure(size: int, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as root:
        root = os.path.realpath(root)
        database = os.path.join(root, "state.db")
        folder = TaskFolder(root, root)
        _make(size, root, database)
        rows = TaskRows(connect_to_read(database), database)

        def look() -> list[Task]:
            found = scan(rows.tasks(), folder.found(), folder.read)
            assert not found.drifts and not found.changed
            return found.tasks

        tasks = look()
        steps: dict[str, Callable[[], object]] = {
            "scan": look,
            "list": lambda: list_lines(tasks, tasks),
            "next": lambda: next_task(tasks),
            "board": lambda: board(tasks, None),  # what a cycle looks at before each step
            "knots": lambda: dependency_problems(tasks),
            "bare": lambda: _bare(root, rows),
        }
        best, wall = dict.fromkeys(steps, float("inf")), dict.fromkeys(steps, float("inf"))
        for _ in range(rounds):
            for name, step in steps.items():
                began, before = perf_counter_ns(), thread_time_ns()
                step()
                best[name] = min(best[name], (thread_time_ns() - before) / 1e6)
                wall[name] = min(wall[name], (perf_counter_ns() - began) / 1e6)
    whole = best["scan"] + best["list"] + best["next"]
    return {
        "tasks": size,
        **{f"{name}_ms": round(ms, 2) for name, ms in best.items()},
        "all_ms": round(whole, 2),
        "wall_ms": round(wall["scan"] + wall["list"] + wall["next"], 2),
        "ratio": round(whole / best["bare"], 2),
    }


def _make(size: int, root: str, database: str) -> None:
    """Rows and files as `add` and `move` would leave them; every task waits for another, so all are looked at."""
    todo = os.path.join(root, ".quintet", "todo")
    os.makedirs(os.path.join(todo, "done", "verified"))
    tasks = []
    for number in range(size):
        status = STATUSES[number % len(STATUSES)] if number % 250 != 9 else TaskStatus.RUNNING
        needs = tuple(f"task-{before:05}" for before in (number - 3, number - 5, 1) if 0 <= before < number)
        claims = (Intent(f"src/module{number % 97}.py", 1, 40),)
        text = TaskText(f"task-{number:05}", f"Do number {number}", needs, intent=claims, body="Some words.\n" * 10)
        path = os.path.join(place(status) or "", f"{text.id}.md")
        with open(os.path.join(todo, path), "w", encoding="utf-8") as file:
            file.write(write_page(text))
        tasks.append(Task(text, status, created=f"2026-01-01T00:00:{number % 60:02}", path=path))
    stamps = {file.path: file.stamp for file in TaskFolder(root, root).found()}
    connection = connect(database)
    with connection:
        rows = TaskRows(connection, database)
        rows.add(tasks, "made")
        connection.executemany("UPDATE tasks SET stamp = ? WHERE path = ?", [(s, p) for p, s in stamps.items()])
    connection.close()


def _bare(root: str, rows: TaskRows) -> int:
    seen = 0
    for folder in ("", "done", "done/verified"):
        with os.scandir(os.path.join(root, ".quintet", "todo", folder)) as entries:
            seen += sum(entry.stat().st_size for entry in entries)
    return seen + len(rows.connection.execute("SELECT * FROM tasks").fetchall())


def _text(summary: dict[str, Any]) -> str:
    names = ("scan_ms", "list_ms", "next_ms", "all_ms", "wall_ms", "board_ms", "knots_ms", "bare_ms")
    rows = [
        [str(figure["tasks"]), *(f"{figure[name]:.2f}" for name in names), f"{figure['ratio']:.2f}"]
        for figure in summary["sizes"]
    ]
    header = ["tasks", "scan ms", "list", "next", "all three", "by the wall", "board", "knots", "bare minimum", "ratio"]
    return "\n".join(
        (
            table(header, rows),
            "",
            f"1,000 tasks within {TARGET_MS:g} ms of CPU time: {verdict(summary['met'])}",
            f"ratio at 10,000 tasks {summary['growth_of_ratio']:.2f} times that at 100, at most {MOST_GROWTH:g}: "
            f"{verdict(summary['linear'])}",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
