"""The durable store on one SQLite file: a write is acknowledged after the commit that holds it is synced.

Writes that share a commit run in a savepoint each, so one that fails takes no other down.
"""

from __future__ import annotations

import contextlib
import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.sqlite.database import clear_errors, connect, set_aside
from quintet.adapters.sqlite.grouped_writes import GroupedWrites, Job, JobOutcome
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.base.errors import StoreDamaged, StoreUnwritable
from quintet.package import load

if TYPE_CHECKING:
    from quintet.domain.ports.tasks import TaskStore
    from quintet.domain.ports.workers import WorkerStore


class SqliteStore(GroupedWrites):
    """Port `ProjectStore` on one SQLite file."""

    def __init__(self, path: str, *, vfs: str | None = None) -> None:
        try:
            private_folder(os.path.dirname(path))
        except OSError as error:
            raise StoreUnwritable(
                f"{os.path.dirname(path)}: cannot be created ({error.strerror})",
                hint="Quintet stores its state there. Set XDG_STATE_HOME to a folder you can write.",
            ) from error
        connection, notice = _connected(path, vfs)
        super().__init__(path, Rows(connection, path), Rows(connect(path, vfs=vfs), path))
        self.notice = notice

    def errors(self) -> AbstractContextManager[None]:
        return clear_errors(self.path)

    def task_store(self) -> TaskStore:
        made: TaskStore = load("adapters.sqlite.task_rows:SqliteTasks")(self)  # few sessions have tasks
        return made

    def worker_store(self) -> WorkerStore:
        made: WorkerStore = load("adapters.sqlite.worker_rows:SqliteWorkers")(self)
        return made

    async def begun_afresh(self, error: StoreDamaged) -> SqliteStore:
        """A new store in this one's place; the damaged one is moved aside, whole."""
        await self.close()
        notice = _moved(self.path, error)
        fresh = SqliteStore(self.path)
        fresh.notice = notice
        return fresh

    def _commit(self, jobs: list[Job]) -> list[JobOutcome]:
        outcomes: list[JobOutcome] = []
        execute = self._write.connection.execute
        try:
            with clear_errors(self.path):
                execute("BEGIN IMMEDIATE")
                for work, future in jobs:
                    outcomes.append((future, *self._one(work, len(jobs) > 1)))
                execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(Exception):
                if self._write.connection.in_transaction:
                    execute("ROLLBACK")
            return [(future, None, error) for _, future in jobs]
        return outcomes


def _connected(path: str, vfs: str | None) -> tuple[Any, str]:
    """A connection, and what the user should know about it."""
    try:
        connection = connect(path, vfs=vfs)
        with clear_errors(path):
            Rows(connection, path).sessions(1)
        return connection, ""
    except StoreDamaged as error:
        notice = _moved(path, error)
        return connect(path, vfs=vfs), notice


def _moved(path: str, error: StoreDamaged) -> str:
    folder = set_aside(path, move=True)
    return f"{error.message}. It was moved to {folder}; this session starts with an empty one."
