"""A store over rows: one writer thread with group commit, and rows of their own for reads.

A write's future resolves after the commit that holds it. Writes that arrive while a commit is under way share the next
one. What a database is and how it commits is the subclass's.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from quintet.adapters.sqlite.rows import Rows
from quintet.domain.base.errors import StoreDamaged, StoreError
from quintet.domain.journal.protocol import Event, Recorded, Submitted
from quintet.domain.ports.ports import Batch, Lease, SessionRow, Unreadable

if TYPE_CHECKING:  # few sessions have tasks
    from quintet.domain.ports.stores import ProjectStore
    from quintet.domain.ports.tasks import TaskStore
    from quintet.domain.ports.workers import TaskQueue, WorkerStore

MOST_PER_COMMIT = 256
T = TypeVar("T")
Job = tuple[Callable[[Rows], Any], "asyncio.Future[Any]"]
JobOutcome = tuple["asyncio.Future[Any]", Any, BaseException | None]


class GroupedWrites(ABC):
    """Port `ProjectStore`, but for what one database does otherwise than another."""

    def __init__(self, path: str, write: Rows, read: Rows) -> None:
        self.path = path
        self.notice = ""  # what the user should know about opening it
        self._write = write
        self._read = read
        self._gathered: list[Job] = []
        self._jobs: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @abstractmethod
    def errors(self) -> AbstractContextManager[None]:
        """Turns the database's errors into ours."""

    @abstractmethod
    def _commit(self, jobs: list[Job]) -> list[JobOutcome]:
        """Run these in one transaction, each so that one that fails takes no other down; never raises."""

    @property
    def reading(self) -> Any:
        return self._read.connection

    @abstractmethod
    def task_store(self) -> TaskStore: ...

    @abstractmethod
    def worker_store(self) -> WorkerStore: ...

    def task_queue(self) -> TaskQueue | None:
        return None

    def outdated(self) -> str:
        return ""

    @abstractmethod
    async def begun_afresh(self, error: StoreDamaged) -> ProjectStore: ...

    # ── writes

    async def create(self, row: SessionRow, batch: Batch) -> list[int]:
        def job(rows: Rows) -> list[int]:
            rows.insert_session(row)
            if batch.lease:
                rows.take_lease(batch.lease, row)
            return rows.append(row.id, batch)

        return await self.write(job)

    async def append(self, session: str, batch: Batch) -> list[int]:
        return await self.write(lambda rows: rows.append(session, batch))

    async def submit(self, session: str, submitted: Submitted, at: str) -> int:
        return await self.write(lambda rows: rows.submit(session, submitted, at))

    async def take_lease(self, lease: Lease, former: SessionRow) -> bool:
        return await self.write(lambda rows: rows.take_lease(lease, former))

    async def renew_lease(self, lease: Lease) -> bool:
        return await self.write(lambda rows: rows.renew_lease(lease))

    async def release(self, lease: Lease) -> None:
        await self.write(lambda rows: rows.release(lease))

    async def purge(self, session: str) -> None:
        await self.write(lambda rows: rows.purge(session))

    def write(self, work: Callable[[Rows], T]) -> asyncio.Future[T]:
        """Run `work` on the writer's connection; done when the commit that holds it is durable."""
        if self._closed:
            raise StoreError("the store is closed")
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._write_loop, name="quintet-writer", daemon=True)
            self._thread.start()
        assert self._loop
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append((work, future))
        return future

    def _hand_over(self) -> None:
        """What one round of the loop wrote goes to the writer together, and shares a commit."""
        if self._gathered:
            self._jobs.put(self._gathered)
            self._gathered = []

    async def close(self) -> None:
        self._closed = True
        if self._thread is not None:
            self._hand_over()
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)
            self._thread = None
        self._leave()
        self._read.close()
        self._write.close()

    def _leave(self) -> None:  # noqa: B027  # a database that has nothing to do then leaves it so
        """The last use of the connections."""

    def _write_loop(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs = first
            last = False
            with contextlib.suppress(Empty):
                while len(jobs) < MOST_PER_COMMIT:
                    more = self._jobs.get_nowait()
                    if more is None:
                        last = True
                        break
                    jobs = jobs + more
            outcomes = self._commit(jobs)
            assert self._loop
            with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
                self._loop.call_soon_threadsafe(_resolve, outcomes)
            if last:
                return

    def _one(self, work: Callable[[Rows], Any], shared: bool) -> tuple[Any, BaseException | None]:
        """What came of one write of a transaction; one that is alone in it fails with it."""
        execute = self._write.connection.execute
        if not shared:
            return work(self._write), None
        execute("SAVEPOINT job")
        try:
            with self.errors():
                result = work(self._write)
        except BaseException as error:
            execute("ROLLBACK TO job")
            execute("RELEASE job")
            return None, error
        execute("RELEASE job")
        return result, None

    # ── reads

    def inbox(self, session: str) -> list[Submitted | Unreadable]:
        with self.errors():
            return self._read.inbox(session)

    waiting = inbox

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]:
        with self.errors():
            return self._read.read(session, after, before, kinds)

    def read_everywhere(self, kinds: Sequence[str]) -> list[tuple[str, Event]]:
        with self.errors():
            return self._read.read_everywhere(kinds)

    def session(self, session: str) -> SessionRow | None:
        with self.errors():
            return self._read.session(session)

    def sessions(self) -> list[SessionRow]:
        """Newest first."""
        with self.errors():
            return self._read.sessions()

    def find_session(self, prefix: str) -> SessionRow:
        with self.errors():
            return self._read.find_session(prefix)

    def last_seq(self, session: str) -> int:
        with self.errors():
            return self._read.last_seq(session)

    def count(self, session: str) -> int:
        with self.errors():
            return self._read.count(session)

    def last_of_type(self, session: str, kind: str) -> int:
        with self.errors():
            return self._read.last_of_type(session, kind)

    def holds(self, lease: Lease) -> bool:
        with self.errors():
            return self._read.holds(lease)

    def data_version(self) -> int:
        with self.errors():
            return self._read.data_version()


def _resolve(outcomes: list[JobOutcome]) -> None:
    for future, result, error in outcomes:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
