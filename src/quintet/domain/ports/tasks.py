"""The ports of durable tasks: their rows, and their files. Apart from `ports`, which only sessions need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from quintet.domain.tasks.task import Task, TaskMove

DRAFT = "../task.md"  # what a person is writing as the next task, from the todo folder


class Claim(Struct, frozen=True):
    """Who works at a task: a lease with a heartbeat, by the same rules as a session's."""

    task: str
    owner: str
    owner_pid: int
    owner_started: str  # identity of the process, so that a reused pid is not taken for it
    lease_until: float
    heartbeat: str = ""  # the instant of the newest one
    worktree: str = ""  # where it works, if not in the project's own folder
    model: str = ""
    context: float | None = None  # percent of the model's window that its conversation fills, where that is known
    number: int = 0  # of this taking of the task; 0: it is not known yet
    machine: str = ""  # its own, where the store is shared by several


class TaskStore(Protocol):
    """The rows of tasks. Writes are acknowledged when they are durable."""

    async def add_tasks(self, tasks: Sequence[Task], reason: str) -> None:
        """All of them with their first move, or none; an id that is there already is a UsageError."""

    async def move_task(self, task: Task, move: TaskMove, owner: str = "", number: int = 0) -> int:
        """Write the task as it is after a move, and the move itself; returns the move's number.

        Raises TaskTaken if the task has been moved meanwhile, `owner` is not the one who claimed it, or `number` is
        given and not the newest of its claims. A task that is not at work any more is claimed by nobody, and nothing
        is claimed for it.
        """

    async def amend_task(self, task: Task, number: int = 0) -> None:
        """Write everything of a task but its status; nothing if it was moved meanwhile. TaskTaken as for a move."""

    async def claim_task(self, claim: Claim, gone: str = "") -> int:
        """Take or keep a claim: free, one's own, or that of an owner whose process is `gone`.

        Returns its number as `fencing.number_for` gives it, 0 if it is refused. A claim that has a number already is
        kept, or refused if it is not there any more.
        """

    async def release_task(self, task: str, owner: str) -> None:
        """Let go of a claim, and of all that was claimed for the task."""

    def tasks(self) -> list[Task]:
        """Every task, oldest first."""

    def task(self, task: str) -> Task | None: ...

    def claims(self) -> dict[str, Claim]: ...

    def moves(self, task: str) -> list[TaskMove]: ...

    def in_worktrees(self) -> frozenset[str]:
        """The tasks whose work lies in a worktree of its own, and is not integrated yet."""


class FoundFile(Struct, frozen=True, gc=False):
    path: str  # relative to the todo folder
    stamp: str  # changes when the file does


class Staged(Protocol):
    """A file that is written and not yet in its place. Whatever can fail for want of space has not."""

    path: str
    stamp: str

    def commit(self) -> None: ...

    def abandon(self) -> None: ...


class Plans(Protocol):
    """Where a planner's pages lie until they are validated and their plan is accepted: out of the project."""

    def folder(self, run: str) -> str:
        """The folder of a run's plan, there to be written to."""

    def pages(self, run: str) -> list[tuple[str, str]]:
        """The pages in it by name."""

    def keep(self, run: str, pages: Sequence[tuple[str, str]]) -> None:
        """These pages and no others."""

    def clear(self, run: str) -> None: ...

    def output(self, run: str, call: str) -> str:
        """The file that all goes to that an executor prints."""


class TaskFiles(Protocol):
    """The files of tasks, below `.quintet/todo`. Nothing is ever overwritten but by `replace`."""

    def found(self) -> list[FoundFile]:
        """Every task file in its three folders, in no order."""

    def read(self, path: str) -> str: ...

    def exists(self, path: str) -> bool: ...

    def replace(self, path: str, text: str) -> str:
        """The old content or the new one, never a mixture; returns the stamp."""

    def stage(self, path: str, text: str) -> Staged:
        """A new file; where its name is taken it gets the time as a suffix."""

    def stage_move(self, source: str, status_folder: str | None, run: str, name: str = "") -> Staged:
        """A file on its way to a folder of the todo folder, or with None to that of a run; `name` renames it."""

    def remove(self, path: str) -> None: ...
