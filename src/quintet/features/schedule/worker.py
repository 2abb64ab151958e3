"""The worker: has each run that is due claimed by itself alone, starts it, and writes down how it ended.

It looks at the clock again and again and trusts none of its own waiting: a machine that slept, or whose clock was
changed, is only a machine on which more or fewer times have passed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
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
UNSURE = "the store was lost while it was to be started; it was not"
FINISH_SECONDS = 300.0  # that a store which is lost is waited for, to write down how a run ended
PAUSE_SECONDS = 2.0


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
        self._mine: set[str] = set()  # the runs that it knows it has: a claim whose answer was lost is not among them

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
                    wait = self._wait()
                except StoreError as error:  # away, busy for long, or no room: the next look does it
                    self._tell(WorkerEvent("waiting", "", self.now, reason=error.message))
                    wait = LOOK_SECONDS
                if once and not self._running:
                    return
                waiting: set[asyncio.Future[Any]] = {stopped, *self._running}
                await asyncio.wait(waiting, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
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
            mine = run.claimed_by == self.name
            if run.id in self._mine or not (mine or self._gone(run, now)):
                continue
            if run.status is DueStatus.CLAIMED:
                if self._store.settle(run, DueStatus.DUE, now, ""):
                    self._tell(WorkerEvent("returned", run.schedule, run.due_at))
            elif self._store.settle(run, DueStatus.CONSUMED, now, why := UNSURE if mine else LEFT):
                self._tell(WorkerEvent("ended", run.schedule, run.due_at, "unknown", reason=why))

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
        found = self._store.claim(self.name, self.now, self.now + LEASE_SECONDS, only)
        if found:
            self._mine.add(found.id)
        return found

    async def carry_out(self, run: DueRun) -> RunResult | None:
        """None if it was not ours any more. It is dispatched before anything starts: nothing is started twice."""
        try:
            return await self._carried_out(run)
        finally:
            self._mine.discard(run.id)

    async def _carried_out(self, run: DueRun) -> RunResult | None:
        try:
            schedule = self._store.find(run.schedule)
            if schedule is None or not self._store.dispatch(run, self.name, self.now, self.now + LEASE_SECONDS):
                return None
        except StoreError:  # whether that was stored is unknown, so it is not started; a later look settles it
            return None
        self._tell(WorkerEvent("started", run.schedule, run.due_at))

        def begun(session: str) -> None:
            with contextlib.suppress(StoreError):  # its end says it again
                self._store.begun(run, self.name, session)

        try:
            result = await self._start(schedule.work, begun)
        except Exception as error:
            result = RunResult(None, result="failed", reason=on_one_line(f"{type(error).__name__}: {error}")[:300])
        await self._finish(run, result)
        code, session = result.exit_code, result.session
        self._tell(WorkerEvent("ended", run.schedule, run.due_at, result.result, code, session, result.reason))
        return result

    async def _finish(self, run: DueRun, result: RunResult) -> None:
        """Write down how it ended, as soon as the store can be written."""
        until = time.monotonic() + FINISH_SECONDS
        while True:
            try:
                self._store.finish(run, self.name, self.now, result)
                return
            except StoreError as error:
                if time.monotonic() > until:
                    raise
                self._tell(WorkerEvent("waiting", run.schedule, run.due_at, reason=error.message))
                await asyncio.sleep(PAUSE_SECONDS)
