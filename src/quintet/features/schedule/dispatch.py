"""Runs what is due in a project's schedules: for `quintet schedule work`, and for a worker beside its tasks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from quintet.adapters.files.paths import Places
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.settings.layers import LoadedSettings
from quintet.app.session_orders import first_axes
from quintet.domain.base.errors import QuintetError, StoreError
from quintet.domain.dials.axes import Axes, AxesChange, Surface
from quintet.domain.ports.workers import StopSign
from quintet.features.schedule import run_once
from quintet.features.schedule.ceiling import capped, refused
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import TableSchedules, open_schedules
from quintet.features.schedule.values import RunResult, ScheduledWork
from quintet.features.schedule.worker import ScheduleWorker, WorkerEvent

AGAIN_SECONDS = 5.0  # until a database that cannot be reached is tried again
STOP_SECONDS = 0.2  # between two looks whether to stop
Prepare = Callable[[], str]


class Starter:
    """Starts scheduled runs, each as a process of its own, with at most the rights that it has.

    `ceiling`: of a shared database's runs, or of all if it was named. `prepare` makes the folder ready that a run of a
    shared database begins in, and names it.
    """

    def __init__(
        self, settings: ScheduleSettings, stop: asyncio.Event, *, ceiling: Axes | None, model: str, shared: bool
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._ceiling = ceiling
        self._model = model
        self._shared = shared
        self.prepare: Prepare | None = None

    async def __call__(self, work: ScheduledWork, begun: Callable[[str], None]) -> RunResult:
        if self._ceiling:
            work = capped(work, self._ceiling, self._model or ("" if self._shared else work.model))
        if self._shared and (why := refused(work.text)):
            return RunResult(None, result="failed", reason=why)
        if self.prepare:
            work = msgspec.structs.replace(work, directory=await asyncio.to_thread(self.prepare))
        seconds = self._settings.max_minutes * 60
        return await run_once.run_work(work, seconds=seconds, stop=self._stop, begun=begun, held=self._shared)


def ceiling_of(loaded: LoadedSettings, axes: AxesChange, *, shared: bool) -> Axes | None:
    """Where dials stand here at most; None if nobody has said so, and the schedules are the user's own."""
    return first_axes(loaded.settings, Surface.HEADLESS, False, axes) if shared or axes.values() else None


def worker_of(
    store: TableSchedules, settings: ScheduleSettings, start: Starter, tell: Callable[[WorkerEvent], None]
) -> ScheduleWorker:
    """A shared database says what time it is: no two machines have the same clock."""
    return ScheduleWorker(store, settings, store if store.shared else SystemClock(), start, tell)


def serve(
    places: Places,
    loaded: LoadedSettings,
    axes: AxesChange,
    model: str,
    prepare: Prepare | None,
    tell: Callable[[str], None],
    stop: StopSign,
) -> None:
    """Run what is due until told to stop, in a thread of its own; what is running then is ended."""
    settings = loaded.settings.table("schedule", ScheduleSettings)

    def told(event: WorkerEvent) -> None:
        parts = (event.schedule, event.event, event.result, event.session, event.reason)
        tell("schedule " + "   ".join(filter(None, parts)))

    async def served() -> None:
        stopping = asyncio.Event()
        waiting = asyncio.create_task(_until(stop, stopping))
        said = ""
        try:
            while not stopping.is_set():
                try:
                    with contextlib.closing(open_schedules(places, make=True)) as store:
                        ceiling = ceiling_of(loaded, axes, shared=store.shared)
                        start = Starter(settings, stopping, ceiling=ceiling, model=model, shared=store.shared)
                        start.prepare = prepare if store.shared else None
                        await worker_of(store, settings, start, told).work(stopping)
                except QuintetError as error:
                    if error.message != said:
                        tell(f"schedules wait: {error.message}")
                    said = error.message
                    if not isinstance(error, StoreError):
                        return
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(stopping.wait(), AGAIN_SECONDS)
        finally:
            waiting.cancel()

    asyncio.run(served())


async def _until(stop: StopSign, stopping: asyncio.Event) -> None:
    while True:
        if stop.is_set():
            stopping.set()
            return
        await asyncio.sleep(STOP_SECONDS)
