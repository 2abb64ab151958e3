"""The durable store on PostgreSQL: a write is acknowledged after the server has committed it.

A transaction locks the project's row first, so that writes of a project come one after the other, whoever makes them.
It leaves its number with the writer's name. So one whose connection broke at the commit is known, by whoever takes the
lock next, to be stored or not; it is run again only if it is not.
"""

from __future__ import annotations

import contextlib
import time
from contextlib import AbstractContextManager
from secrets import token_hex

from quintet.adapters.sqlite.grouped_writes import GroupedWrites, Job, JobOutcome
from quintet.adapters.sqlite.task_rows import SqliteTasks
from quintet.adapters.sqlite.worker_rows import SqliteWorkers
from quintet.domain.base.errors import QuintetError, StoreDamaged, StoreNewer, StoreOlder, StoreUnreachable
from quintet.domain.ports.ports import Clock
from quintet.domain.ports.stores import ProjectStore
from quintet.domain.ports.tasks import TaskStore
from quintet.domain.ports.workers import TaskQueue, WorkerStore
from quintet.features.postgres.link import PAUSE_SECONDS, ServerLink, statements
from quintet.features.postgres.queue_schema import check_queue
from quintet.features.postgres.rows import PostgresRows, PostgresTaskRows, PostgresWorkerRows
from quintet.features.postgres.schema import checked, project_number
from quintet.package import load

WRITE_AGAIN_SECONDS = 20.0  # that a lost connection is tried to be made anew for a write
SQL = statements("database.sql")
PACKAGE = __name__.rpartition(".")[0]


class PostgresStore(GroupedWrites):
    """Port `ProjectStore` on a PostgreSQL database."""

    def __init__(self, url: str, project: str, clock: Clock) -> None:
        self._link = checked(ServerLink(url, clock=clock, reads_only=False))
        self._link.project = number = project_number(self._link, project, make=True)
        self._link.execute(SQL["forget_writers"])
        super().__init__(
            self._link.shown, PostgresRows(self._link), PostgresRows(ServerLink(url, project=number, clock=clock))
        )
        self._writer = token_hex(8)
        self._number = 0
        self._away = False  # it was waited for in vain: what comes next tries once

    def errors(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()  # they come out of the link as ours

    def task_store(self) -> TaskStore:
        return PostgresTasks(self)

    def worker_store(self) -> WorkerStore:
        return PostgresWorkers(self)

    def task_queue(self) -> TaskQueue | None:
        check_queue(self._read.connection)
        made: TaskQueue = load("queue:ProcrastinateQueue", PACKAGE)(self._link.url, self._link.project, self.write)
        return made

    def outdated(self) -> str:
        try:
            checked(self._read.connection, again=True)
        except (StoreNewer, StoreOlder) as error:
            return f"{error.message}. {error.hint}"
        return ""

    async def begun_afresh(self, error: StoreDamaged) -> ProjectStore:
        raise error  # it is not ours alone to set aside

    def _leave(self) -> None:
        with contextlib.suppress(QuintetError):
            if self._number and not self._link.lost:
                self._link.execute(SQL["forget_writer"], (self._writer,))

    def _commit(self, jobs: list[Job]) -> list[JobOutcome]:
        self._number += 1
        until = time.monotonic() + (0.0 if self._away else WRITE_AGAIN_SECONDS)
        outcomes: list[JobOutcome] = []
        while True:
            try:
                if self._link.lost:
                    self._link.reconnect()
                if self._begin(known=bool(outcomes)):
                    return outcomes
                outcomes = [(future, *self._one(work, len(jobs) > 1)) for work, future in jobs]
                self._link.execute(self._ending())
                self._away = False
                return outcomes
            except StoreUnreachable as error:
                if time.monotonic() > until:
                    self._away = True
                    return [(future, None, error) for _, future in jobs]
                time.sleep(PAUSE_SECONDS)
            except BaseException as error:
                with contextlib.suppress(QuintetError):
                    if not self._link.lost:
                        self._link.execute("ROLLBACK")
                return [(future, None, error) for _, future in jobs]

    def _begin(self, known: bool) -> bool:
        """Begin, with the project locked; True if what is to be written turns out to be stored."""
        self._link.execute(f"BEGIN; {self._plain('lock_project')}")
        if not known:
            return False
        row = self._link.execute(SQL["written"], (self._writer,)).fetchone()
        if row is None or int(row[0]) != self._number:
            return False
        self._link.execute("ROLLBACK")
        return True

    def _ending(self) -> str:
        """The last statements of a transaction, sent together."""
        wrote = self._plain("wrote").replace("%(1)s", f"'{self._writer}'").replace("%(2)s", str(self._number))
        return f"{wrote}; {self._plain('told')}; COMMIT"

    def _plain(self, name: str) -> str:
        return SQL[name].replace("%(project)s", str(self._link.project))


class PostgresTasks(SqliteTasks):
    rows = PostgresTaskRows


class PostgresWorkers(SqliteWorkers):
    rows = PostgresWorkerRows
