"""The ports of a project's state as a whole: what opens it, and what commands look up in it without a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from quintet.domain.ports.ports import Clock, SessionRow, Store

if TYPE_CHECKING:
    from quintet.domain.base.errors import StoreDamaged
    from quintet.domain.journal.protocol import Event, Recorded, Submitted
    from quintet.domain.journal.store_rows import Unreadable
    from quintet.domain.ports.tasks import Claim, TaskStore
    from quintet.domain.ports.workers import TaskBranch, TaskQueue, TaskWait, Worker, WorkerStore
    from quintet.domain.tasks.task import Intent, Task, TaskMove

Progress = Callable[[int, int], None]


class Hit(Struct, frozen=True):
    session: str
    at: str
    title: str
    seq: int
    what: str  # you, said, answer, call, …
    line: str
    matches: tuple[tuple[int, int], ...] = ()  # where in the line, from and to


class Hits(Struct, frozen=True):
    found: int  # events that fit, shown or not
    hits: list[Hit]


class ProjectStore(Store, Protocol):
    """A project's store as a session opens it."""

    path: str  # as it is shown to the person
    notice: str  # what the user should know about opening it

    def sessions(self) -> list[SessionRow]:
        """Newest first."""

    def find_session(self, prefix: str) -> SessionRow: ...

    async def purge(self, session: str) -> None: ...

    def task_store(self) -> TaskStore: ...

    def worker_store(self) -> WorkerStore: ...

    def task_queue(self) -> TaskQueue | None:
        """What brings tasks to the workers of several machines; None where workers look for themselves."""

    def outdated(self) -> str:
        """Why this program can no longer read what is stored: a newer one has changed it; empty if it can."""

    async def begun_afresh(self, error: StoreDamaged) -> ProjectStore:
        """A new store in the place of a damaged one, or the error where there can be none."""


class StoredRows(Protocol):
    """What is stored of a project's sessions, to look at."""

    path: str

    def session(self, session: str) -> SessionRow | None: ...

    def sessions(self, most: int = 1000) -> list[SessionRow]: ...

    def find_session(self, prefix: str) -> SessionRow: ...

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]: ...

    def read_project(
        self, kinds: Sequence[str], after: int = 0, *, since: str = "", before: int | None = None
    ) -> list[Recorded]: ...

    def read_of_sessions(self, kinds: Sequence[str], after: int = 0) -> list[tuple[str, Recorded]]: ...

    def read_everywhere(self, kinds: Sequence[str]) -> list[tuple[str, Event]]: ...

    def pieces(self, session: str, after: int = 0, before: int | None = None) -> Iterator[Recorded]: ...

    def rules_used(self) -> dict[str, tuple[str, int]]: ...

    def event(self, seq: int) -> tuple[str, Recorded]: ...

    def newest_seq(self) -> int: ...

    def at(self, seq: int) -> str: ...

    def last_seq(self, session: str) -> int: ...

    def count(self, session: str) -> int: ...

    def inbox(self, session: str) -> list[Submitted | Unreadable]: ...

    def open_questions(self) -> list[tuple[str, str, str]]: ...

    def has_tasks(self) -> bool: ...

    def project_cost(self) -> float: ...

    def moment_of_last(self, session: str, kind: str) -> str: ...

    def data_version(self) -> int: ...

    def read_through(self) -> None: ...

    def close(self) -> None: ...


class SharedTables(Protocol):
    """Tables of a feature's in a database that several machines share. Places in a statement are written `?`."""

    owner: str  # whose rows are this project's; empty: there is no such project

    def execute(self, sql: str, values: Sequence[object] = ()) -> Any:
        """A cursor: `fetchone`, `fetchall`, `rowcount`."""

    def writing(self) -> AbstractContextManager[None]:
        """One transaction, one after the other in a project; if it fails, nobody may know whether it is stored."""

    def epoch(self) -> float:
        """The time by the clock that all machines share."""

    def close(self) -> None: ...


class StoredTasks(Protocol):
    """What is stored of a project's tasks, to look at."""

    path: str

    def tasks(self) -> list[Task]: ...

    def task(self, task: str) -> Task | None: ...

    def claims(self) -> dict[str, Claim]: ...

    def moves(self, task: str) -> list[TaskMove]: ...

    def in_worktrees(self) -> frozenset[str]: ...

    def close(self) -> None: ...


class StoredWorkers(Protocol):
    """What is stored of a project's workers, to look at."""

    def workers(self) -> list[Worker]: ...

    def path_claims(self) -> dict[str, tuple[Intent, ...]]: ...

    def waits(self) -> list[TaskWait]: ...

    def branches(self) -> dict[str, TaskBranch]: ...

    def close(self) -> None: ...


class StoreKind(Protocol):
    """A kind of database that a feature brings, for URLs of its scheme. A project in it goes by its name."""

    def open(self, url: str, project: str, clock: Clock) -> ProjectStore:
        """For a session; an older schema is an error that says how to migrate it."""

    def rows(self, url: str, project: str) -> StoredRows | None:
        """None where nothing is stored of that project yet."""

    def tasks(self, url: str, project: str) -> StoredTasks | None: ...

    def workers(self, url: str, project: str) -> StoredWorkers | None: ...

    def tables(self, url: str, project: str, *, make: bool) -> SharedTables:
        """What features keep of a project there, to write; nobody's where it is not known and not to be made."""

    def search(self, url: str, project: str, words: Sequence[str], limit: int, progress: Progress) -> Hits:
        """The newest events that have all the words, each with the line that fits best."""

    def problem(self, url: str, thorough: bool) -> str:
        """What is wrong with the database itself; empty if nothing is."""
