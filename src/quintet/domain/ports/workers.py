"""The port of workers: who they are, what their tasks have claimed, who waits, and where unfinished work lies.

Every write for a task carries the number of the lease on it, and is refused (`TaskTaken`) if that is not the newest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from quintet.domain.dials.axes import AxesChange
from quintet.domain.tasks.task import Intent
from quintet.domain.workers.claims import Overlap, SymbolLines
from quintet.domain.workers.integration import Landed, Rebased


class WorkerState(StrEnum):
    IDLE = "idle"
    WORKING = "working"
    INTEGRATING = "integrating"
    STOPPING = "stopping"  # it was told to: it finishes its task
    ENDED = "ended"


class Worker(Struct, frozen=True):
    """A process that does tasks; a lease with a heartbeat, as a session's."""

    id: str
    run: str
    owner_pid: int
    owner_started: str
    lease_until: float
    began: str
    heartbeat: str
    state: WorkerState = WorkerState.IDLE
    task: str = ""
    done: int = 0
    cost: float = 0.0
    said: str = ""
    machine: str = ""  # its own, where the store is shared by several

    @property
    def owner(self) -> str:
        return self.id


class StopSign(Protocol):
    def is_set(self) -> bool: ...


class ScheduleServer(Protocol):
    """Runs what is due in a project's schedules, with at most these dials and this model, until told to stop. Blocks.

    `prepare` makes the folder ready that a run begins in, where that is not the project's own.
    """

    def __call__(
        self,
        places: Any,
        loaded: Any,
        axes: AxesChange,
        model: str,
        prepare: Callable[[], str] | None,
        tell: Callable[[str], None],
        stop: StopSign,
    ) -> None: ...


class SymbolFinder(Protocol):
    """Knows where symbols stand, by an index of the project."""

    async def lines(self, path: str, symbol: str, content: bytes) -> SymbolLines | None:
        """Of a file with this content; None where that is not known."""

    async def close(self) -> None: ...


class TaskWait(Struct, frozen=True):
    task: str
    waits_for: str
    path: str  # what both want
    since: str


class BranchState(StrEnum):
    WORKING = "working"
    LATER = "later"  # verified, and your checkout has unsaved work in the same files
    KEPT = "kept"  # verified, and the branch is the result


class TaskBranch(Struct, frozen=True):
    """Where the work of a task lies until it is integrated."""

    task: str
    branch: str
    worktree: str
    target: str
    base: str
    state: BranchState = BranchState.WORKING
    said: str = ""
    pushed: str = ""  # the newest commits that were pushed for it, or were about to be
    machine: str = ""  # where the worktree lies, where the store is shared by several


class TaskQueue(Protocol):
    """Brings tasks that can begin to workers. It decides nothing: who may write for a task is decided by its claim."""

    async def bring(self, tasks: Sequence[str]) -> None:
        """Have each of these brought to a worker, once however often it is asked for."""

    async def serve(self, do: Callable[[str], Awaitable[None]]) -> None:
        """Call `do` with the tasks that come, one after the other; cancelled, it waits for the one under way."""

    async def recover(self) -> list[str]:
        """The tasks that were brought to workers of which nothing is heard any more; they are not theirs any longer."""


class WorkerStore(Protocol):
    async def put_worker(self, worker: Worker) -> None:
        """A new one, or its heartbeat; one that was told to stop stays so until it has ended."""

    async def stop_worker(self, worker: str) -> None: ...

    async def forget_workers(self, before: str) -> None:
        """Those that ended, and began before an instant."""

    def workers(self) -> list[Worker]:
        """Every one that is known, the oldest first."""

    async def claim_paths(self, task: str, number: int, wanted: Sequence[Intent], at: str) -> tuple[Overlap, ...]:
        """Claim more for a task, all of it or nothing, as `domain/workers/claims` decides; what is in the way is
        returned, and written down as what the task waits for. Claims go when the claim on the task does."""

    async def wait(self, task: str, others: Sequence[Overlap], at: str) -> None:
        """Write down whom a task waits for that nobody has claimed; nobody: it waits no longer."""

    def path_claims(self) -> dict[str, tuple[Intent, ...]]: ...

    def waits(self) -> list[TaskWait]: ...

    async def put_branch(self, branch: TaskBranch, number: int) -> None: ...

    async def drop_branch(self, task: str, number: int = 0) -> None:
        """Without a number, of a task that nobody has claimed."""

    def branches(self) -> dict[str, TaskBranch]: ...


class Widened(Struct, frozen=True):
    """What came of claiming more."""

    refused: str = ""  # why it is not free, and does not get so
    waited: str = ""  # for whom, and what; empty: it was free


class Integration(Protocol):
    """What a unit in a worktree of its own does beside its work: it claims what it writes, and integrates."""

    async def widen(self, paths: Sequence[str]) -> Widened:
        """Claim these files before they are written, and wait until they are free."""

    async def rebase(self, task: str, title: str) -> Rebased:
        """Keep the work as a commit, and put it onto the target."""

    async def land(self, task: str) -> Landed:
        """Move the target forward to what was verified."""
