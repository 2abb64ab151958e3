"""Tasks in the database: the store of them, over synchronous methods on one connection, as `rows` has for sessions.

Writing goes inside a transaction of the caller's. A database from before there were tasks has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from quintet.adapters.sqlite.database import load_queries
from quintet.domain.base.errors import StoreDamaged, TaskTaken, UsageError
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.task import AT_WORK, Task, TaskMove, TaskStatus, TaskText
from quintet.domain.workers.fencing import Holder, holds, may_write, number_for

if TYPE_CHECKING:  # commands that only read need no event loop
    from quintet.adapters.sqlite.grouped_writes import GroupedWrites

T = TypeVar("T")
SINCE, WORKERS_SINCE = 2, 5  # the schema versions that brought them
_decode_text = msgspec.json.Decoder(TaskText).decode
_encode = msgspec.json.Encoder().encode
_STATUSES = {str(status): status for status in TaskStatus}


class TaskRows:
    def __init__(self, connection: Any, path: str) -> None:
        self.connection = connection
        self.path = path
        self.sql = self._statements()

    def _statements(self) -> dict[str, str]:
        return load_queries("tasks.sql")

    def close(self) -> None:
        self.connection.close()

    # ── reading

    def tasks(self) -> list[Task]:
        return self._tasks(self.connection.execute(self.sql["all_tasks"])) if self._known() else []

    def task(self, task: str) -> Task | None:
        found = self._tasks(self.connection.execute(self.sql["task_by_id"], (task,))) if self._known() else []
        return found[0] if found else None

    def claims(self) -> dict[str, Claim]:
        if not self._known():
            return {}
        rows: Iterable[tuple[Any, ...]] = self.connection.execute(self.sql["claims"])
        return {task: Claim(task, *rest) for task, *rest in rows}

    def moves(self, task: str) -> list[TaskMove]:
        return [
            TaskMove(
                task_id, TaskStatus(before) if before else None, TaskStatus(after), reason or "", at, scope or "", id
            )
            for task_id, before, after, reason, at, scope, id in self.connection.execute(self.sql["moves_of"], (task,))
        ]

    def in_worktrees(self) -> frozenset[str]:
        if int(self.connection.pragma("user_version")) < WORKERS_SINCE:
            return frozenset()
        return frozenset(str(row[0]) for row in self.connection.execute(self.sql["in_worktrees"]))

    def _known(self) -> bool:
        return int(self.connection.pragma("user_version")) >= SINCE

    def _tasks(self, rows: Iterable[tuple[Any, ...]]) -> list[Task]:
        row: tuple[Any, ...] = ("",)
        found = []
        try:
            for row in rows:
                found.append(Task(_decode_text(row[0]), _STATUSES[row[1]], _axes(*row[2:7]), *row[7:]))
        except (msgspec.DecodeError, ValueError, KeyError, UnicodeError) as error:
            raise StoreDamaged(
                f"{self.path}: a task cannot be read ({error}): {row[0][:80]}",
                hint="It is damaged, or of a newer Quintet: update this one, or look at it with `quintet doctor`.",
            ) from error
        return found

    # ── writing

    def add(self, tasks: Sequence[Task], reason: str) -> None:
        for task in tasks:
            axes = task.axes
            values = (
                *(task.id, axes.work_mode, axes.run_control, axes.permission_profile, axes.model_mode, axes.surface),
                *(task.status, task.retries, task.max_retries, task.cost_budget or None, task.cost_spent),
                *(task.created, task.started or None, task.completed or None, task.next_action or None),
                *(task.checkpoint or None, task.milestone or None, task.path, task.stamp, *_said(task.text)),
            )
            self.connection.execute(self.sql["insert_task"], values)
            if self.connection.changes() != 1:
                raise UsageError(f"task {task.id} already exists; `quintet tasks show {task.id}`")
            self._write_move(TaskMove(task.id, None, task.status, reason, task.created))

    def move(self, task: Task, move: TaskMove, owner: str, number: int = 0) -> int:
        held = self._holder(task.id)
        if not holds(held, owner):
            lost = "another process is working on it" if held else "the claim on it was released"
            raise TaskTaken(f"task {task.id} was not moved: {lost}")
        self._check(task.id, number)
        values = (task.status, task.retries, task.started or None, task.completed or None, task.id, move.before)
        self.connection.execute(self.sql["move_task"], values)
        if self.connection.changes() != 1:
            raise TaskTaken(f"task {task.id} is no longer {move.before}; another process has moved it")
        self.amend(task)
        if task.status not in AT_WORK:
            self._forget(task.id)
        return self._write_move(move)

    def amend(self, task: Task, number: int = 0) -> None:
        self._check(task.id, number)
        spent = (task.cost_budget or None, task.cost_spent, task.next_action or None, task.checkpoint or None)
        values = (*spent, task.path, task.stamp, *_said(task.text), task.id, task.status)
        self.connection.execute(self.sql["amend_task"], values)

    def claim(self, claim: Claim, gone: str) -> int:
        newest, held = newest_number(self, claim.task), self._holder(claim.task)
        number = number_for(held, claim.owner, newest, carried=claim.number, gone=gone)
        if not number:
            return 0
        values = (
            *(claim.task, claim.owner, claim.owner_pid, claim.owner_started, claim.lease_until),
            *(claim.heartbeat, claim.worktree, claim.model, claim.context, number),
        )
        self.connection.execute(self.sql["claim_task"], values)
        self.connection.execute(self.sql["number_task"], (number, claim.task))
        return number

    def _holder(self, task: str) -> Holder | None:
        rows: Iterable[tuple[Any, ...]] = self.connection.execute(self.sql["holder_of"], (task,))
        return next((Holder(*row) for row in rows), None)

    def release(self, task: str, owner: str) -> None:
        self.connection.execute(self.sql["release_task"], (task, owner))
        if self.connection.changes():
            self._forget(task)

    def _forget(self, task: str) -> None:
        """Nobody works at the task: what was claimed for it is free."""
        for name in ("forget_claim", "forget_path_claims", "forget_task_waits"):
            self.connection.execute(self.sql[name], (task,))

    def _check(self, task: str, number: int) -> None:
        """A write that carries a number is made with the newest one only."""
        if number:
            check_number(self, task, number)

    def _write_move(self, move: TaskMove) -> int:
        values = (move.task, move.before or "", move.after, move.reason, move.scope or None, move.at)
        self.connection.execute(self.sql["insert_move"], values)
        return int(self.connection.last_insert_rowid())


class NumberedRows(Protocol):
    """Rows of a database in which every taking of a task has a number."""

    connection: Any
    sql: dict[str, str]


def newest_number(rows: NumberedRows, task: str) -> int:
    found = next(iter(rows.connection.execute(rows.sql["newest_number"], (task,))), (0,))
    return int(str(found[0]))


def check_number(rows: NumberedRows, task: str, number: int) -> None:
    """Raises TaskTaken for a write with another number than the newest."""
    if not may_write(newest_number(rows, task), number):
        raise TaskTaken(f"task {task}: its lease is another's by now; nothing was written")


@cache
def _axes(work_mode: str, control: str, profile: str, model_mode: str, surface: str) -> Axes:
    return Axes(
        WorkMode(work_mode), RunControl(control), PermissionProfile(profile), ModelMode(model_mode), Surface(surface)
    )


def _said(text: TaskText) -> tuple[str, str, str | None]:
    """What a file says, whole and as the two columns that queries may ask for."""
    claims = ", ".join(str(intent) for intent in text.intent)
    return _encode(text).decode(), _encode(text.depends_on).decode(), claims or None


class SqliteTasks:
    """Port `TaskStore` on the database of a store: its writer thread, its commits, its reading connection."""

    rows: type[TaskRows] = TaskRows

    def __init__(self, store: GroupedWrites) -> None:
        self._store = store
        self._read = self.rows(store.reading, store.path)

    async def add_tasks(self, tasks: Sequence[Task], reason: str) -> None:
        await self._do(lambda rows: rows.add(tasks, reason))

    async def move_task(self, task: Task, move: TaskMove, owner: str = "", number: int = 0) -> int:
        return await self._do(lambda rows: rows.move(task, move, owner, number))

    async def amend_task(self, task: Task, number: int = 0) -> None:
        await self._do(lambda rows: rows.amend(task, number))

    async def claim_task(self, claim: Claim, gone: str = "") -> int:
        return await self._do(lambda rows: rows.claim(claim, gone))

    async def release_task(self, task: str, owner: str) -> None:
        await self._do(lambda rows: rows.release(task, owner))

    async def _do(self, work: Callable[[TaskRows], T]) -> T:
        return await self._store.write(lambda rows: work(self.rows(rows.connection, rows.path)))

    def tasks(self) -> list[Task]:
        with self._store.errors():
            return self._read.tasks()

    def task(self, task: str) -> Task | None:
        with self._store.errors():
            return self._read.task(task)

    def claims(self) -> dict[str, Claim]:
        with self._store.errors():
            return self._read.claims()

    def moves(self, task: str) -> list[TaskMove]:
        with self._store.errors():
            return self._read.moves(task)

    def in_worktrees(self) -> frozenset[str]:
        with self._store.errors():
            return self._read.in_worktrees()
