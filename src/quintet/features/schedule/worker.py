"""The worker: has each run that is due claimed by itself alone, starts it, and writes down how it ended.

It looks at the clock again and again and trusts none of its own waiting: a machine that slept, or whose clock was
changed, is only a machine on which more or fewer times have passed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

from quintet.adapters.processes.system import process_identity
from quintet.domain.base.errors import StoreError
from quintet.domain.base.safe_text import on_one_line
from quintet.features.schedule.book import requeue_after
from quintet.features.schedule.plan import due_plan
from quintet.features.schedule.port import ScheduleStore
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.times import latest_times, next_time
from quintet.features.schedule.values import DueRun, DueStatus, RunResult, Schedule, ScheduledWork, ScheduleState

LEASE_SECONDS = 120
LOOK_SECONDS = 15.0  # the longest it waits before it looks at the clock again
LEFT = "its worker ended while it ran; how far it came is unknown"


class EpochClock(Protocol):
    def epoch(self) -> float: ...


class WorkerEvent(Struct, frozen=True):
    """What a worker tells of a run."""

    event: str  # started, ended, expired, returned, waiting
    schedule: str
    due_at: int
    result: str = ""
    exit_code: int | None = None
    session: str = ""
    reason: str = ""


Start = Callable[[ScheduledWork, Callable[[str], None]], Awaitable[RunResult]]


def this_worker() -> str:
    return f"{os.getpid()}@{process_identity(os.getpid())}"


def is_gone(run: DueRun, now: int) -> bool:
    """Whether the worker that holds a run has ended: one beside us by its process, any other by its lease."""
    pid, _, identity = run.claimed_by.partition("@")
    here = process_identity(os.getpid()).rpartition("/")[0]
    if identity.rpartition("/")[0] == here and pid.isascii() and pid.isdigit():
        return process_identity(int(pid)) != identity
    return not now <= run.expires_at <= now + 2 * LEASE_SECONDS


class ScheduleWorker:
    def __init__(
        self,
        store: ScheduleStore,
        settings: ScheduleSettings,
        clock: EpochClock,
        start: Start,
        tell: Callable[[WorkerEvent], None],
        *,
        name: str = "",
        gone: Callable[[DueRun, int], bool] = is_gone,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._start = start
        self._tell = tell
        self.name = name or this_worker()
        self._gone = gone
        self._running: set[asyncio.Task[RunResult | None]] = set()

    @property
    def now(self) -> int:
        return int(self._clock.epoch())

    async def work(self, stop: asyncio.Event, *, once: bool = False) -> None:
        """Until it is told to stop; `once`: until nothing is due and nothing runs."""
        stopped = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                try:
                    self.look()
                    while len(self._running) < max(1, self._settings.parallel) and (run := self.take()):
                        self._running.add(asyncio.create_task(self.carry_out(run)))
                except StoreError as error:  # busy for long, or no room: the next look does it
                    self._tell(WorkerEvent("waiting", "", self.now, reason=error.message))
                if once and not self._running:
                    return
                waiting: set[asyncio.Future[Any]] = {stopped, *self._running}
                await asyncio.wait(waiting, timeout=self._wait(), return_when=asyncio.FIRST_COMPLETED)
                self._drop_ended()
        finally:
            stopped.cancel()
            if self._running:
                await asyncio.wait(self._running)
                self._drop_ended()

    def _drop_ended(self) -> None:
        for task in [one for one in self._running if one.done()]:
            self._running.discard(task)
            task.result()

    def _wait(self) -> float:
        next_due = self._store.next_due()
        until = LOOK_SECONDS if next_due is None else next_due - self._clock.epoch()
        return min(LOOK_SECONDS, max(0.5, until))  # a row that cannot be advanced is in the past

    def look(self) -> None:
        """What the clock says: which times have come, which runs were left, whether it was put back."""
        now = self.now
        self._store.renew(self.name, now + LEASE_SECONDS)
        if self._store.clock_went_back(now):
            self._count_again(now)
        for name in self._store.unqueued():
            self._queue(self._store.find(name), now)
        self._settle(now)
        for queued in self._store.passed(now):
            self._advance(queued, now)

    def _count_again(self, now: int) -> None:
        for one in self._store.schedules():
            if one.state is ScheduleState.ACTIVE:
                self._queue(one, now)

    def _queue(self, schedule: Schedule | None, now: int) -> None:
        if schedule and requeue_after(self._store, schedule, now) is None:
            self._store.set_state(schedule.name, ScheduleState.ENDED)

    def _settle(self, now: int) -> None:
        """A claim that nobody holds any more: not started, it is due again; started, it is over."""
        for run in self._store.held():
            if run.claimed_by == self.name or not self._gone(run, now):
                continue
            if run.status is DueStatus.CLAIMED:
                if self._store.settle(run, DueStatus.DUE, now, ""):
                    self._tell(WorkerEvent("returned", run.schedule, run.due_at))
            elif self._store.settle(run, DueStatus.CONSUMED, now, LEFT):
                self._tell(WorkerEvent("ended", run.schedule, run.due_at, "unknown", reason=LEFT))

    def _advance(self, queued: DueRun, now: int) -> None:
        schedule = self._store.find(queued.schedule)
        if schedule is None:
            return
        open_ = self._store.runs(DueStatus.DUE, DueStatus.CLAIMED, DueStatus.DISPATCHED, schedule=schedule.name)
        most = max(1, self._settings.max_missed)
        plan = due_plan(
            latest_times(schedule, queued.due_at, now, most),
            now,
            schedule.missed,
            next_time=next_time(schedule, now),
            late=int(self._settings.late_minutes * 60),
            most=most,
            waiting=sum(run.status is DueStatus.DUE for run in open_),
            running=any(run.status is not DueStatus.DUE for run in open_),
        )
        if self._store.advance(queued, plan):
            for time, reason in plan.expire:
                self._tell(WorkerEvent("expired", schedule.name, time, reason=reason))

    def take(self, only: str = "") -> DueRun | None:
        return self._store.claim(self.name, self.now, self.now + LEASE_SECONDS, only)

    async def carry_out(self, run: DueRun) -> RunResult | None:
        """None if it was not ours any more. It is dispatched before anything starts: nothing is started twice."""
        schedule = self._store.find(run.schedule)
        if schedule is None or not self._store.dispatch(run, self.name, self.now, self.now + LEASE_SECONDS):
            return None
        self._tell(WorkerEvent("started", run.schedule, run.due_at))
        try:
            result = await self._start(schedule.work, lambda session: self._store.begun(run, self.name, session))
        except Exception as error:
            result = RunResult(None, result="failed", reason=on_one_line(f"{type(error).__name__}: {error}")[:300])
        self._store.finish(run, self.name, self.now, result)
        code, session = result.exit_code, result.session
        self._tell(WorkerEvent("ended", run.schedule, run.due_at, result.result, code, session, result.reason))
        return result
