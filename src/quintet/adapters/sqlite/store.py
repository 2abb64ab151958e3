"""The durable store: one writer thread with group commit, and a connection of its own for reads.

A write's future resolves after the commit that holds it is synced. Writes that arrive while a commit is under way
share the next one; each runs in a savepoint, so one that fails takes no other down.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import apsw

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.sqlite.database import clear_errors, connect, set_aside
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.base.errors import StoreDamaged, StoreError, StoreUnwritable
from quintet.domain.journal.protocol import Event, Recorded, Submitted
from quintet.domain.ports.ports import Batch, Lease, SessionRow, Unreadable

MOST_PER_COMMIT = 256
T = TypeVar("T")
_Job = tuple[Callable[[Rows], Any], "asyncio.Future[Any]"]


class SqliteStore:
    """Port `Store` on one SQLite file."""

    def __init__(self, path: str, *, vfs: str | None = None) -> None:
        self.path = path
        self.notice = ""  # what the user should know about opening it
        try:
            private_folder(os.path.dirname(path))
        except OSError as error:
            raise StoreUnwritable(
                f"{os.path.dirname(path)}: cannot be made ({error.strerror})",
                hint="Quintet stores its state there. Set XDG_STATE_HOME to a folder you can write.",
            ) from error
        self._write = Rows(self._connect(vfs), path)
        self._read = Rows(connect(path, vfs=vfs), path)
        self._gathered: list[_Job] = []
        self._jobs: SimpleQueue[list[_Job] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def _connect(self, vfs: str | None) -> Any:
        try:
            connection = connect(self.path, vfs=vfs)
            with clear_errors(self.path):
                Rows(connection, self.path).sessions(1)
            return connection
        except StoreDamaged as error:
            self.notice = _moved(self.path, error)
            return connect(self.path, vfs=vfs)

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
        """Run `work` on the writer's connection; done when the commit that holds it is synced."""
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

    async def begun_afresh(self, error: StoreDamaged) -> SqliteStore:
        """A new store in this one's place; the damaged one is moved aside, whole."""
        await self.close()
        notice = _moved(self.path, error)
        fresh = SqliteStore(self.path)
        fresh.notice = notice
        return fresh

    async def close(self) -> None:
        self._closed = True
        if self._thread is not None:
            self._hand_over()
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)
            self._thread = None
        self._read.connection.close()
        self._write.connection.close()

    # ── the writer thread

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
            self._commit(jobs)
            if last:
                return

    def _commit(self, jobs: list[_Job]) -> None:
        outcomes: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []
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
            outcomes = [(future, None, error) for _, future in jobs]
        assert self._loop
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
            self._loop.call_soon_threadsafe(_resolve, outcomes)

    def _one(self, work: Callable[[Rows], Any], shared: bool) -> tuple[Any, BaseException | None]:
        execute = self._write.connection.execute
        if not shared:
            return work(self._write), None
        execute("SAVEPOINT job")
        try:
            with clear_errors(self.path):
                result = work(self._write)
        except BaseException as error:
            execute("ROLLBACK TO job")
            execute("RELEASE job")
            return None, error
        execute("RELEASE job")
        return result, None

    # ── reads

    @property
    def reading(self) -> apsw.Connection:
        return self._read.connection

    def inbox(self, session: str) -> list[Submitted | Unreadable]:
        with clear_errors(self.path):
            return self._read.inbox(session)

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]:
        with clear_errors(self.path):
            return self._read.read(session, after, before, kinds)

    def read_everywhere(self, kinds: Sequence[str]) -> list[tuple[str, Event]]:
        with clear_errors(self.path):
            return self._read.read_everywhere(kinds)

    def session(self, session: str) -> SessionRow | None:
        with clear_errors(self.path):
            return self._read.session(session)

    def sessions(self) -> list[SessionRow]:
        """Newest first."""
        with clear_errors(self.path):
            return self._read.sessions()

    def find_session(self, prefix: str) -> SessionRow:
        with clear_errors(self.path):
            return self._read.find_session(prefix)

    def last_seq(self, session: str) -> int:
        with clear_errors(self.path):
            return self._read.last_seq(session)

    def count(self, session: str) -> int:
        with clear_errors(self.path):
            return self._read.count(session)

    def last_of_type(self, session: str, kind: str) -> int:
        with clear_errors(self.path):
            return self._read.last_of_type(session, kind)

    def holds(self, lease: Lease) -> bool:
        with clear_errors(self.path):
            return self._read.holds(lease)

    def data_version(self) -> int:
        with clear_errors(self.path):
            return self._read.data_version()


def _moved(path: str, error: StoreDamaged) -> str:
    folder = set_aside(path, move=True)
    return f"{error.message}. It was moved to {folder}; this session starts with an empty one."


def _resolve(outcomes: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, result, error in outcomes:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
