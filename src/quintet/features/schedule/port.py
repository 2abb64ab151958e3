"""What the schedule asks of a database. Each method is one transaction; no two workers ever share a due run.

A method that moves a run names the status it moves from and, after a claim, who claimed it; it is False where that is
no longer so. `may_move` is the table of moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quintet.features.schedule.plan import DuePlan
from quintet.features.schedule.values import DueRun, DueStatus, RunResult, Schedule, ScheduleState


class ScheduleStore(Protocol):
    """Everything is of one owner: what others own is not there."""

    def add(self, schedule: Schedule, first: int) -> bool:
        """With its first time queued; False if there is one of that name."""

    def schedules(self) -> list[Schedule]: ...

    def find(self, name: str) -> Schedule | None: ...

    def unreadable(self) -> list[str]:
        """The names of rows that are no schedules: never run, and shown by the doctor."""

    def set_state(self, name: str, state: ScheduleState) -> None: ...

    def remove(self, name: str) -> bool:
        """With all its runs."""

    def runs(self, *statuses: DueStatus, schedule: str = "", most: int = 1_000) -> list[DueRun]:
        """Those of these statuses, the latest due first."""

    def passed(self, now: int) -> list[DueRun]:
        """What is queued, of active schedules, and its time has come."""

    def seen(self) -> int | None:
        """When somebody has looked at the clock last; None if nobody has."""

    def next_due(self) -> int | None:
        """The earliest time that is queued, of an active schedule."""

    def advance(self, queued: DueRun, plan: DuePlan) -> bool:
        """The queued run becomes what the plan says, and the next one is queued; False if another was first."""

    def unqueued(self) -> list[str]:
        """The active schedules for which no time is queued."""

    def requeue(self, schedule: str, due_at: int) -> bool:
        """The time that is queued for a schedule is this one; False if it was run before: it is not run again."""

    def put_due(self, schedule: str, now: int) -> DueRun | None:
        """A run of the user's own wish; None if one is waiting or running."""

    def claim(self, worker: str, now: int, expires_at: int, only: str = "") -> DueRun | None:
        """The run that is due longest, of a schedule that is not paused and has none running."""

    def dispatch(self, run: DueRun, worker: str, now: int, expires_at: int) -> bool:
        """To be called before the process is started."""

    def begun(self, run: DueRun, worker: str, session: str) -> None: ...

    def finish(self, run: DueRun, worker: str, now: int, result: RunResult) -> bool: ...

    def renew(self, worker: str, expires_at: int) -> None:
        """All claims of a worker."""

    def held(self) -> Sequence[DueRun]:
        """What is claimed or dispatched."""

    def settle(self, run: DueRun, to: DueStatus, now: int, reason: str) -> bool:
        """Move a run that its worker left, if nothing has happened to it since."""

    def clock_went_back(self, now: int) -> bool:
        """Whether a time well after this one has been seen; remembers this one."""

    def close(self) -> None: ...
