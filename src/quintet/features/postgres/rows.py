"""The rows of sessions and tasks in PostgreSQL: the statements are its own, what is made of them is SQLite's."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.adapters.sqlite.worker_rows import WorkerRows
from quintet.domain.ports.workers import TaskBranch
from quintet.domain.tasks.task import AT_WORK, Task, TaskMove
from quintet.features.postgres.changes import Changes
from quintet.features.postgres.link import ServerLink, statements
from quintet.package import load

PACKAGE = __name__.rpartition(".")[0]


class PostgresRows(Rows):
    def __init__(self, link: ServerLink) -> None:
        super().__init__(link, link.shown, statements("queries.sql"))
        self._link = link
        self._changes: Changes | None = None

    def data_version(self) -> int:
        """Listens from the first time on that it is asked for."""
        if self._changes is None:
            self._changes = Changes(self._link.url, self._link.project)
        return self._changes.version

    def _add_events(
        self, session: str, at: str, version: int, events: Sequence[tuple[str, str, str | None]]
    ) -> list[int]:
        """All of them in one statement: a round trip to the server costs more than it does to insert a row."""
        if not events:
            return []
        kinds, data, contents = ([event[part] for event in events] for part in range(3))
        values = (session, at, kinds, version, data, contents)
        return sorted(int(seq) for (seq,) in self.connection.execute(self.sql["append_event"], values).fetchall())

    def close(self) -> None:
        if self._changes:
            self._changes.close()
        super().close()


class PostgresTaskRows(TaskRows):
    """Whatever lets a task begin brings it to a worker, in the same transaction."""

    def _statements(self) -> dict[str, str]:
        return statements("tasks.sql")

    def add(self, tasks: Sequence[Task], reason: str) -> None:
        super().add(tasks, reason)
        for task in tasks:
            self._freed(task.id)

    def move(self, task: Task, move: TaskMove, owner: str, number: int = 0) -> int:
        written = super().move(task, move, owner, number)
        if task.status not in AT_WORK:
            self._freed(task.id)
        return written

    def release(self, task: str, owner: str) -> None:
        super().release(task, owner)
        self._freed(task)

    def _freed(self, task: str) -> None:
        found = [str(id) for (id,) in self.connection.execute(statements("queue.sql")["freed"], (task,)).fetchall()]
        if found:
            load("queue:put_in", PACKAGE)(self.connection, found)


class PostgresWorkerRows(WorkerRows):
    def _statements(self) -> dict[str, str]:
        return statements("workers.sql")

    def _of_branch(self, branch: TaskBranch) -> tuple[str, ...]:
        return *super()._of_branch(branch), branch.pushed
