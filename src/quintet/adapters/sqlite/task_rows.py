"""Tasks in the database: the store of them, over synchronous methods on one connection, as `rows` has for sessions.

Writing goes inside a transaction of the caller's. A database from before there were tasks has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
import msgspec

from quintet.adapters.sqlite.database import clear_errors, load_queries
from quintet.domain.base.errors import StoreDamaged, TaskTaken, UsageError
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.task import AT_WORK, Task, TaskMove, TaskStatus, TaskText

if TYPE_CHECKING:  # commands that only read need no event loop
    from quintet.adapters.sqlite.store import SqliteStore

T = TypeVar("T")
SINCE = 2  # the schema version that brought them
_decode_text = msgspec.json.Decoder(TaskText).decode
_encode = msgspec.json.Encoder().encode
_STATUSES = {str(status): status for status in TaskStatus}


class TaskRows:
    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self.connection = connection
        self.path = path
        self.sql = _queries()

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

    def _known(self) -> bool:
        return int(self.connection.pragma("user_version")) >= SINCE

    def _tasks(self, rows: Iterable[tuple[Any, ...]]) -> list[Task]:
        row: tuple[Any, ...] = ("",)
        found = []
        try:
            for row in rows:
                found.append(Task(_decode_text(row[0]), _STATUSES[row[1]], _axes(*row[2:7]), *row[7:]))
        except (msgspec.DecodeError, ValueError, KeyError, UnicodeError) as error:
            raise StoreDamaged(f"{self.path}: a task cannot be read ({error}): {row[0][:80]}") from error
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
            try:
                self.connection.execute(self.sql["insert_task"], values)
            except apsw.ConstraintError:
                raise UsageError(f"task {task.id} already exists; `quintet tasks show {task.id}`") from None
            self._write_move(TaskMove(task.id, None, task.status, reason, task.created))

    def move(self, task: Task, move: TaskMove, owner: str) -> int:
        claimed = next(iter(self.connection.execute(self.sql["owner_of"], (task.id,))), ("",))[0]
        if claimed != owner:
            lost = "another process is working on it" if claimed else "the claim on it was released"
            raise TaskTaken(f"task {task.id} was not moved: {lost}")
        values = (task.status, task.retries, task.started or None, task.completed or None, task.id, move.before)
        self.connection.execute(self.sql["move_task"], values)
        if self.connection.changes() != 1:
            raise TaskTaken(f"task {task.id} is no longer {move.before}; another process has moved it")
        self.amend(task)
        if task.status not in AT_WORK:
            self.connection.execute(self.sql["forget_claim"], (task.id,))
        return self._write_move(move)

    def amend(self, task: Task) -> None:
        spent = (task.cost_budget or None, task.cost_spent, task.next_action or None, task.checkpoint or None)
        values = (*spent, task.path, task.stamp, *_said(task.text), task.id)
        self.connection.execute(self.sql["amend_task"], values)

    def claim(self, claim: Claim, gone: str) -> bool:
        values = (
            *(claim.task, claim.owner, claim.owner_pid, claim.owner_started, claim.lease_until),
            *(claim.heartbeat, claim.worktree, claim.model, gone, claim.context),
        )
        self.connection.execute(self.sql["claim_task"], values)
        return self.connection.changes() == 1

    def release(self, task: str, owner: str) -> None:
        self.connection.execute(self.sql["release_task"], (task, owner))

    def _write_move(self, move: TaskMove) -> int:
        values = (move.task, move.before or "", move.after, move.reason, move.scope or None, move.at)
        self.connection.execute(self.sql["insert_move"], values)
        return self.connection.last_insert_rowid()


@cache
def _queries() -> dict[str, str]:
    return load_queries("tasks.sql")


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
    """Port `TaskStore` on the database of a `SqliteStore`: its writer thread, its commits, its reading connection."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._read = TaskRows(store.reading, store.path)

    async def add_tasks(self, tasks: Sequence[Task], reason: str) -> None:
        await self._do(lambda rows: rows.add(tasks, reason))

    async def move_task(self, task: Task, move: TaskMove, owner: str = "") -> int:
        return await self._do(lambda rows: rows.move(task, move, owner))

    async def amend_task(self, task: Task) -> None:
        await self._do(lambda rows: rows.amend(task))

    async def claim_task(self, claim: Claim, gone: str = "") -> bool:
        return await self._do(lambda rows: rows.claim(claim, gone))

    async def release_task(self, task: str, owner: str) -> None:
        await self._do(lambda rows: rows.release(task, owner))

    async def _do(self, work: Callable[[TaskRows], T]) -> T:
        return await self._store.write(lambda rows: work(TaskRows(rows.connection, rows.path)))

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
