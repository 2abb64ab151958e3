"""What workers work with: the project's store, its tasks, its repository, and what each of them may do."""

from __future__ import annotations

import asyncio
import os
from typing import Any, TypeVar

from msgspec import Struct, structs

from quintet.adapters.files.paths import Places
from quintet.adapters.git.worktrees import Worktrees, branch_for
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.layers import LoadedSettings
from quintet.adapters.stores.chosen import open_store
from quintet.app.late_parts import make_keeper
from quintet.domain.base.errors import UsageError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.dials.axes import AxesChange
from quintet.domain.ports.workers import TaskBranch, Worker, WorkerState, WorkerStore
from quintet.domain.tasks.task import ID_FORM, Intent, Task
from quintet.domain.workers.integration import IntegrateWay
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.engine.session.leases import owner_lives
from quintet.features.registry import symbol_finder
from quintet.features.workers.clone import Clone
from quintet.features.workers.settings import TaskSettings, WorkerSettings
from quintet.features.workers.symbols import ClaimedSymbols

T = TypeVar("T")
COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Rights(Struct, frozen=True):
    """What a worker may do at most: where the dials stood when it was started, and flags of settings."""

    axes: AxesChange
    flags: dict[str, Any]


class Shop:
    def __init__(
        self,
        places: Places,
        loaded: LoadedSettings,
        target: str = "",
        way: IntegrateWay | None = None,
        clone: Clone | None = None,
    ) -> None:
        self.places = places
        self.loaded = loaded
        self.settings = loaded.settings.table("workers", WorkerSettings)
        tasks = loaded.settings.table("tasks", TaskSettings)
        self.way = way or tasks.integrate
        self.trees = Worktrees(places.root)
        self.target = target or tasks.target or self.trees.current()
        self.clone = clone  # where the repository is not the user's own checkout
        self.clock = SystemClock()
        self.store = open_store(places)
        self.vault = Vault(places, loaded.settings)
        self.keeper: TaskKeeper = make_keeper(self.store, places, self.clock, self.vault.text)
        self.workers: WorkerStore = self.store.worker_store()
        self.symbols = ClaimedSymbols(self.trees, lambda: symbol_finder(places, loaded), self.clock.monotonic)

    def check(self) -> None:
        """Raises where no worker could do anything."""
        if not self.target:
            raise UsageError(
                "your checkout is on no branch (detached HEAD, or no git repository)",
                hint="Check out a branch, or name one: --onto BRANCH.",
            )
        if not self.trees.commit_of(f"refs/heads/{self.target}"):
            raise UsageError(f"there is no branch {self.target} with a commit; workers need one to start from")

    def branches(self, rows: dict[str, TaskBranch] | None = None) -> dict[str, TaskBranch]:
        """Where the work of tasks lies, as far as it is this project's here: no row leads to another folder or branch.

        A base that is no commit's name counts as none.
        """
        rows = self.workers.branches() if rows is None else rows
        return {id: self._own(row) for id, row in rows.items() if ID_FORM.fullmatch(id)}

    def _own(self, row: TaskBranch) -> TaskBranch:
        return structs.replace(
            row,
            branch=branch_for(row.task),
            worktree=self.places.worktree(row.task).root,
            base=row.base if COMMIT.fullmatch(row.base) else "",
            pushed=" ".join(one for one in row.pushed.split() if COMMIT.fullmatch(one)),
        )

    def elsewhere(self, rows: dict[str, TaskBranch] | None = None) -> dict[str, TaskBranch]:
        """The tasks whose work lies in another clone, or is meant for another branch than this worker's."""
        here = os.uname().nodename
        return {
            id: row
            for id, row in (self.workers.branches() if rows is None else rows).items()
            if row.base
            and (
                (row.machine or here, row.worktree) != (here, self.places.worktree(id).root)
                or (row.machine != "" and row.target != self.target)
            )
        }

    def live(self, worker: Worker) -> bool:
        ended = worker.state is WorkerState.ENDED
        return not ended and owner_lives(worker, self.clock.uptime(), process_identity)

    async def git(self, work: Any, *words: Any) -> Any:
        """A call of `trees`, away from the event loop."""
        return await asyncio.to_thread(work, *words)

    async def wanted(self, task: Task) -> tuple[Intent, ...]:
        """What a task claims at its beginning, with the lines of its symbols as they are in the target now."""
        intents = task.text.intent
        if not any(one.symbol for one in intents):
            return intents
        commit = await self.git(self.trees.commit_of, f"refs/heads/{self.target}")
        return tuple([await self.symbols.with_lines(one, commit) if one.symbol else one for one in intents])

    async def close(self) -> None:
        await self.symbols.close()
        await self.store.close()
        if self.clone:
            self.clone.close()
