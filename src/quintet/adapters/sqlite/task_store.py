"""Port `TaskStore` on the database of a `SqliteStore`: its writer thread, its group commit, its reading connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.task import Task, TaskMove


class SqliteTasks:
    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._read = TaskRows(store.reading, store.path)

    async def add_tasks(self, tasks: Sequence[Task], reason: str) -> None:
        await self._do(lambda rows: rows.add(tasks, reason))

    async def move_task(self, task: Task, move: TaskMove, owner: str = "") -> int:
        return await self._do(lambda rows: rows.move(task, move, owner))  # type: ignore[no-any-return]

    async def amend_task(self, task: Task) -> None:
        await self._do(lambda rows: rows.amend(task))

    async def claim_task(self, claim: Claim, now: float, gone: str = "") -> bool:
        return await self._do(lambda rows: rows.claim(claim, now, gone))  # type: ignore[no-any-return]

    async def release_task(self, task: str, owner: str) -> None:
        await self._do(lambda rows: rows.release(task, owner))

    async def _do(self, work: Callable[[TaskRows], Any]) -> Any:
        def job(rows: Rows) -> Any:
            return work(TaskRows(rows.connection, rows.path))

        return await self._store.write(job)

    def tasks(self) -> list[Task]:
        with clear_errors(self._store.path):
            return self._read.tasks()

    def task(self, task: str) -> Task | None:
        with clear_errors(self._store.path):
            return self._read.task(task)

    def claims(self) -> dict[str, Claim]:
        with clear_errors(self._store.path):
            return self._read.claims()

    def moves(self, task: str) -> list[TaskMove]:
        with clear_errors(self._store.path):
            return self._read.moves(task)
