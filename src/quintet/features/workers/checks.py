"""What the doctor looks at: tasks and worktrees that workers left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from shutil import rmtree
from typing import TYPE_CHECKING

from quintet.adapters.files.paths import Places
from quintet.adapters.git.worktrees import Worktrees
from quintet.adapters.stores.chosen import open_store
from quintet.app.lookups import lives
from quintet.app.task_lookups import tasks_here
from quintet.domain.ports.workers import BranchState, WorkerState
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.domain.tasks.task import OVER
from quintet.features.workers.service import WorkersSeen

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

WORKER_DEAD = FindingKind(
    "WORKER_DEAD",
    Severity.INFO,
    HealthScope.TASK,
    "The process of a worker was killed.",
    "The next worker moves the task back to todo and continues in its worktree: quintet parallel",
)
WORKTREE_LEFT = FindingKind(
    "WORKTREE_LEFT",
    Severity.WARNING,
    HealthScope.TASK,
    "A worktree of a task that has ended or was deleted is still there.",
    "remove it; its branch stays",
    fixable=True,
)
WORKTREE_GONE = FindingKind(
    "WORKTREE_GONE",
    Severity.WARNING,
    HealthScope.TASK,
    "You deleted the worktree of a task; git still lists it.",
    "remove what git keeps of it; its branch stays",
    fixable=True,
)
INTEGRATED_LATER = FindingKind(
    "INTEGRATED_LATER",
    Severity.INFO,
    HealthScope.TASK,
    "Verified work waits, because your unsaved changes are in its way.",
    "Commit or stash that work, then integrate it: quintet parallel",
)
KINDS = (WORKER_DEAD, WORKTREE_LEFT, WORKTREE_GONE, INTEGRATED_LATER)


def workers_left_nothing(checkup: Checkup) -> Iterator[Finding]:
    seen = WorkersSeen(checkup.places)
    for one in seen.workers:
        if one.task and one.state is not WorkerState.ENDED and not lives(one):
            problem = f"the worker that did task {one.task} (process {one.owner_pid}) has ended"
            yield WORKER_DEAD.of(one.task, problem)
    for path in _orphans(checkup, seen):
        problem = f"{path}: a worktree of a task that has ended or no longer exists"
        yield WORKTREE_LEFT.of(os.path.basename(path), problem)
    for task, path in _gone(checkup, seen):
        yield WORKTREE_GONE.of(task, f"{path}, the worktree of task {task}, was deleted, and git still lists it")
    for task, said in seen.later.items():
        yield INTEGRATED_LATER.of(task, f"task {task} is {said}")


def tidy(checkup: Checkup) -> list[str]:
    """Remove worktrees of tasks that are over; returns what was done."""
    done = []
    seen = WorkersSeen(checkup.places)
    for path in _orphans(checkup, seen):
        task = os.path.basename(path)
        Worktrees(checkup.places.tasks_root).remove(task, path, branch=False)
        rmtree(os.path.join(checkup.places.state, "worktrees", task), ignore_errors=True)
        done.append(f"removed the worktree of {task}")
        if (row := seen.branches.get(task)) and row.state is not BranchState.KEPT:
            asyncio.run(_forget(checkup.places, task))
    for task, path in _gone(checkup, seen):
        Worktrees(checkup.places.tasks_root).remove(task, path, branch=False)
        done.append(f"removed what git kept of the deleted worktree of {task}")
    return done


async def _forget(places: Places, task: str) -> None:
    store = open_store(places)
    try:
        await store.worker_store().drop_branch(task)
    finally:
        await store.close()


def _gone(checkup: Checkup, seen: WorkersSeen) -> list[tuple[str, str]]:
    """Deleted worktrees that git still lists, and at which nobody works."""
    folder = os.path.dirname(checkup.places.worktree("x").root)
    busy = {one.task for one in seen.live}
    gone = Worktrees(checkup.places.tasks_root).gone(folder)
    return [(task, os.path.join(folder, task)) for task in gone if task not in busy]


def _orphans(checkup: Checkup, seen: WorkersSeen) -> list[str]:
    """Worktrees whose tasks are over or not there, and at which nobody works."""
    folder = os.path.dirname(checkup.places.worktree("x").root)
    if not os.path.isdir(folder):
        return []
    scan, _ = tasks_here(checkup.places)
    open_ones = {task.id for task in scan.tasks if task.status not in OVER} | {one.task for one in seen.live}
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name not in open_ones]
