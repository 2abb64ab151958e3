"""What a session holds of workers: those it started, and their rows on the board."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from msgspec import structs

from quintet.adapters.files.paths import Places
from quintet.adapters.git.worktrees import branch_for
from quintet.adapters.processes.system import RandomIds, process_identity
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.stores.chosen import stored_workers
from quintet.app.lookups import lives
from quintet.domain.ports.workers import BranchState, TaskBranch, TaskWait, Worker, WorkerState
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.domain.tasks.task import ID_FORM, Intent

if TYPE_CHECKING:
    from quintet.app.services import Opening


class WorkersSeen:
    """What is stored of a project's workers, at one moment."""

    def __init__(self, places: Places) -> None:
        self.workers: list[Worker] = []
        self.claims: dict[str, tuple[Intent, ...]] = {}
        self.waits: list[TaskWait] = []
        self.branches: dict[str, TaskBranch] = {}
        with clear_errors(places.database):
            rows = stored_workers(places)
            if rows is None:
                return
            self.workers, self.claims = rows.workers(), rows.path_claims()
            known = {id: row for id, row in rows.branches().items() if ID_FORM.fullmatch(id)}
            self.waits = rows.waits()
            self.branches = {id: structs.replace(row, branch=branch_for(id)) for id, row in known.items()}
            rows.close()

    @property
    def live(self) -> list[Worker]:
        return [one for one in self.workers if one.state is not WorkerState.ENDED and lives(one)]

    @property
    def held_up(self) -> dict[str, str]:
        """Why the newest attempt at a task came to no verdict, or its work is not integrated yet."""
        return {one.task: one.said for one in self.branches.values() if one.said}

    @property
    def later(self) -> dict[str, str]:
        return {one.task: one.said for one in self.branches.values() if one.state is BranchState.LATER}


class Workers:
    """Service of a session."""

    def __init__(self, places: Places) -> None:
        self.places = places

    def start(self, number: int, words: list[str]) -> str:
        """Start workers that end when this process does."""
        run = RandomIds().new("p")
        parent = f"{os.getpid()}:{process_identity(os.getpid())}"
        for _ in range(number):
            one = start_worker(self.places.root, run, parent, words)
            threading.Thread(target=one.wait, daemon=True).start()  # however it ends, nothing of it is left over
        return run

    def seen(self) -> WorkersSeen:
        return WorkersSeen(self.places)


def start_worker(
    root: str, run: str, parent: str, words: list[str], errors: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """A worker process; the store has all that it prints, but for why it crashed: `errors` takes that."""
    argv = [sys.executable, "-m", "quintet", "worker", "-C", root, "--run", run, "--parent", parent, *words]
    null = subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=null, stdout=null, stderr=errors, start_new_session=True)


def open_workers(opening: Opening) -> Workers:
    return Workers(opening.places)


def board_rows(workers: Workers) -> list[BoardEntry]:
    seen = workers.seen()
    rows = []
    for number, one in enumerate(seen.live, 1):
        claimed = ", ".join(map(str, seen.claims.get(one.task, ())))
        about = " · ".join(filter(None, (str(one.state), one.task, claimed, f"heartbeat {one.heartbeat[11:19]}")))
        rows.append(BoardEntry(BoardKind.FEATURE, one.id, "▶", f"worker {number}", about, "accent"))
    waits = [(wait.task, f"waits for {wait.waits_for}: {wait.path}") for wait in seen.waits]
    rows += [BoardEntry(BoardKind.FEATURE, task, "…", task, about, "dim") for task, about in waits]
    rows += [BoardEntry(BoardKind.FEATURE, task, "!", task, said, "warning") for task, said in seen.later.items()]
    return rows
