"""Workers in the database: port `WorkerStore`, on the connections and commits of a `SqliteStore`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from quintet.adapters.sqlite.database import load_queries
from quintet.adapters.sqlite.task_rows import check_number
from quintet.domain.ports.workers import TaskBranch, TaskWait, Worker
from quintet.domain.tasks.task import Intent
from quintet.domain.workers.claims import Overlap, PathClaims

if TYPE_CHECKING:
    from quintet.adapters.sqlite.grouped_writes import GroupedWrites

T = TypeVar("T")
SINCE = 5  # the schema version that brought them
SYMBOLS_SINCE = 6  # and the one that brought claims by symbol
_LINES = "SELECT task_id, path, first_line, last_line FROM path_claims ORDER BY task_id, path, first_line"


class WorkerRows:
    """Synchronous methods on one connection; writing goes inside a transaction of the caller's."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.sql = self._statements()

    def _statements(self) -> dict[str, str]:
        return load_queries("workers.sql")

    def close(self) -> None:
        self.connection.close()

    def workers(self) -> list[Worker]:
        return [_made(Worker, row) for row in self._rows("all_workers")]

    def path_claims(self) -> dict[str, tuple[Intent, ...]]:
        found: dict[str, tuple[Intent, ...]] = {}
        older = SINCE <= int(self.connection.pragma("user_version")) < SYMBOLS_SINCE
        for task, *claimed in self.connection.execute(_LINES) if older else self._rows("path_claims"):
            found[task] = (*found.get(task, ()), Intent(*claimed))
        return found

    def waits(self) -> list[TaskWait]:
        return [TaskWait(*row) for row in self._rows("waits")]

    def branches(self) -> dict[str, TaskBranch]:
        return {row[0]: _made(TaskBranch, row) for row in self._rows("branches")}

    def _rows(self, name: str) -> list[tuple[Any, ...]]:
        known = int(self.connection.pragma("user_version")) >= SINCE
        return list(self.connection.execute(self.sql[name])) if known else []

    def put_worker(self, worker: Worker) -> None:
        values = (
            *(worker.id, worker.run, worker.owner_pid, worker.owner_started, worker.lease_until, worker.began),
            *(worker.heartbeat, worker.state, worker.task, worker.done, worker.cost, worker.said),
        )
        self.connection.execute(self.sql["put_worker"], values)

    def stop_worker(self, worker: str) -> None:
        self.connection.execute(self.sql["stop_worker"], (worker,))

    def forget_workers(self, before: str) -> None:
        self.connection.execute(self.sql["forget_workers"], (before,))

    def claim_paths(self, task: str, number: int, wanted: Sequence[Intent], at: str) -> tuple[Overlap, ...]:
        check_number(self, task, number)
        others = PathClaims(self.path_claims()).in_the_way(task, wanted)
        if not others:
            self.connection.executemany(
                self.sql["claim_path"],
                [(task, one.path, one.first, one.last, one.symbol, one.content) for one in wanted],
            )
        self.wait(task, others, at)
        return tuple(others)

    def wait(self, task: str, others: Sequence[Overlap], at: str) -> None:
        named = {one.task for one in others}
        for (other,) in self.connection.execute(self.sql["waits_of"], (task,)).fetchall():
            if other not in named:
                self.connection.execute(self.sql["forget_wait"], (task, other))
        for one in others:
            self.connection.execute(self.sql["insert_wait"], (task, one.task, one.path, at))

    def put_branch(self, branch: TaskBranch, number: int) -> None:
        check_number(self, branch.task, number)
        self.connection.execute(self.sql["put_branch"], self._of_branch(branch))

    def _of_branch(self, branch: TaskBranch) -> tuple[str, ...]:
        """The values of its row, in their order."""
        return branch.task, branch.branch, branch.worktree, branch.target, branch.base, branch.state, branch.said

    def drop_branch(self, task: str, number: int) -> None:
        if number:
            check_number(self, task, number)
        self.connection.execute(self.sql["drop_branch"], (task,))


def _made(kind: type[T], row: tuple[Any, ...]) -> T:
    """A row as the Struct whose fields its columns are, in their order."""
    names: tuple[str, ...] = kind.__struct_fields__  # type: ignore[attr-defined]
    return msgspec.convert(dict(zip(names, row, strict=True)), kind)


class SqliteWorkers:
    """Port `WorkerStore`, on the database of a store."""

    rows: type[WorkerRows] = WorkerRows

    def __init__(self, store: GroupedWrites) -> None:
        self._store = store
        self._read = self.rows(store.reading)

    async def put_worker(self, worker: Worker) -> None:
        await self._do(lambda rows: rows.put_worker(worker))

    async def stop_worker(self, worker: str) -> None:
        await self._do(lambda rows: rows.stop_worker(worker))

    async def forget_workers(self, before: str) -> None:
        await self._do(lambda rows: rows.forget_workers(before))

    async def claim_paths(self, task: str, number: int, wanted: Sequence[Intent], at: str) -> tuple[Overlap, ...]:
        return await self._do(lambda rows: rows.claim_paths(task, number, wanted, at))

    async def wait(self, task: str, others: Sequence[Overlap], at: str) -> None:
        await self._do(lambda rows: rows.wait(task, others, at))

    async def put_branch(self, branch: TaskBranch, number: int) -> None:
        await self._do(lambda rows: rows.put_branch(branch, number))

    async def drop_branch(self, task: str, number: int = 0) -> None:
        await self._do(lambda rows: rows.drop_branch(task, number))

    async def _do(self, work: Callable[[WorkerRows], T]) -> T:
        return await self._store.write(lambda rows: work(self.rows(rows.connection)))

    def workers(self) -> list[Worker]:
        with self._store.errors():
            return self._read.workers()

    def path_claims(self) -> dict[str, tuple[Intent, ...]]:
        with self._store.errors():
            return self._read.path_claims()

    def waits(self) -> list[TaskWait]:
        with self._store.errors():
            return self._read.waits()

    def branches(self) -> dict[str, TaskBranch]:
        with self._store.errors():
            return self._read.branches()
