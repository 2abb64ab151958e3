"""The words of `quintet schedule` carried out at a terminal, and the worker there."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator

import msgspec

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.settings import layers as config
from quintet.app.session_orders import first_axes
from quintet.cli.parsing import turned
from quintet.domain.dials.axes import Surface
from quintet.domain.settings.settings import Settings
from quintet.features.schedule import run_once
from quintet.features.schedule.book import ScheduleBook
from quintet.features.schedule.install import has_timer
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import SqliteSchedules, me
from quintet.features.schedule.times import at_zone, system_zone
from quintet.features.schedule.values import RunResult, ScheduledWork
from quintet.features.schedule.words import WORDS, ScheduleScene, parsed, work_of
from quintet.features.schedule.worker import ScheduleWorker, WorkerEvent
from quintet.surfaces.tables import complain, say, say_json
from quintet.surfaces.terminal import told_to_end


def word(action: str, arguments: list[str]) -> int:
    words = parsed(action, arguments)
    with _scene(words.directory) as (scene, _):
        answer = WORDS[action].run(scene, words)
    if words.json:
        say_json(answer.data)
    else:
        say(answer.lines)
    return answer.code


@contextlib.contextmanager
def _scene(directory: str) -> Iterator[tuple[ScheduleScene, ScheduleSettings]]:
    places = locate(directory)
    settings = config.load(places).settings
    own = settings.table("schedule", ScheduleSettings)
    with contextlib.closing(SqliteSchedules()) as store:
        book = ScheduleBook(store, own, me())
        where = places.opened or places.root
        work = work_from(settings, where)
        yield ScheduleScene(book, places.root, where, int(SystemClock().epoch()), has_timer(), work), own


def work_from(settings: Settings, directory: str) -> Callable[[Namespace, str], ScheduledWork]:
    """Flags and a text as work here; dials that are not given stand where a headless run would have them now."""

    def work(words: Namespace, text: str) -> ScheduledWork:
        return work_of(words, text, directory, first_axes(settings, Surface.HEADLESS, False, turned(words)))

    return work


def run(arguments: list[str]) -> int:
    """A run now, in this process's sight: its exit code is ours."""
    words = parsed("run", arguments)
    with _scene(words.directory) as (scene, settings):
        due = scene.book.put_due(words.name, scene.now)
        return asyncio.run(_work(scene.book, settings, only=due.id, once=True, as_json=words.json))


def work(words: Namespace) -> int:
    with contextlib.closing(SqliteSchedules()) as store:
        settings = config.load(locate(words.directory)).settings.table("schedule", ScheduleSettings)
        book = ScheduleBook(store, settings, me())
        return asyncio.run(_work(book, settings, once=words.once, as_json=words.json))


async def _work(book: ScheduleBook, settings: ScheduleSettings, *, only: str = "", once: bool, as_json: bool) -> int:
    zone = system_zone()

    def tell(event: WorkerEvent) -> None:
        if as_json:
            sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
        else:
            parts = (
                at_zone(event.due_at, zone),
                event.schedule,
                event.event,
                event.result,
                event.session,
                event.reason,
            )
            say(["   ".join(filter(None, parts))])
        sys.stdout.flush()

    with told_to_end(signal.SIGINT) as stop:

        async def start(what: ScheduledWork, begun: Callable[[str], None]) -> RunResult:
            return await run_once.run_work(what, seconds=settings.max_minutes * 60, stop=stop, begun=begun)

        worker = ScheduleWorker(book.store, settings, SystemClock(), start, tell)
        if not only:
            if not once and not as_json:
                complain("Working; Ctrl+C ends it.")
            await worker.work(stop, once=once)
            return 0
        claimed = worker.take(only)
        result = await worker.carry_out(claimed) if claimed else None
        return 1 if result is None or result.exit_code is None else result.exit_code
