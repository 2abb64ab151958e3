"""The words of `quintet schedule` carried out at a terminal, and the worker there."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence

import msgspec

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.stores.chosen import database_url
from quintet.app.session_orders import first_axes
from quintet.cli.parsing import turned
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import AxesChange, Surface
from quintet.domain.settings.settings import Settings
from quintet.features.schedule.book import ScheduleBook
from quintet.features.schedule.dispatch import Starter, ceiling_of, worker_of
from quintet.features.schedule.install import has_timer
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import SqliteSchedules, TableSchedules, is_there, open_schedules
from quintet.features.schedule.times import at_zone, system_zone
from quintet.features.schedule.values import ScheduledWork
from quintet.features.schedule.words import WORDS, ScheduleScene, parsed, work_of
from quintet.features.schedule.worker import ScheduleWorker, WorkerEvent
from quintet.surfaces.tables import complain, say, say_json
from quintet.surfaces.terminal import told_to_end


def word(action: str, arguments: list[str]) -> int:
    words = parsed(action, arguments)
    with _scene(words, make=action == "add") as (scene, places):
        answer = WORDS[action].run(scene, words)
    if words.json:
        say_json(answer.data)
        return answer.code
    say(answer.lines)
    if action == "list" and scene.shared and (kept := _kept_here(places)):
        kept_words = f"{counted(kept, 'schedule')} of this project {'is' if kept == 1 else 'are'}"
        say(["", f"{kept_words} in this machine's own file: quintet schedule list --own"])
    return answer.code


def _kept_here(places: Places) -> int:
    """How many schedules of the project the user's own file has: they stay there."""
    if not is_there():
        return 0
    with contextlib.closing(SqliteSchedules()) as store:
        return sum(one.project == places.root for one in store.schedules())


@contextlib.contextmanager
def _scene(words: Namespace, *, make: bool = False) -> Iterator[tuple[ScheduleScene, Places]]:
    places = locate(words.directory)
    settings = config.load(places).settings
    own = settings.table("schedule", ScheduleSettings)
    with contextlib.closing(open_schedules(places, own=words.own, make=make)) as store:
        book = ScheduleBook(store, own, store.owner)
        where = places.opened or places.root
        work = work_from(settings, where)
        yield (
            ScheduleScene(
                book, places.root, where, int(store.epoch()), has_timer() and not store.shared, work, store.shared
            ),
            places,
        )


def work_from(settings: Settings, directory: str) -> Callable[[Namespace, str], ScheduledWork]:
    """Flags and a text as work here; dials that are not given stand where a headless run would have them now."""

    def work(words: Namespace, text: str) -> ScheduledWork:
        return work_of(words, text, directory, first_axes(settings, Surface.HEADLESS, False, turned(words)))

    return work


def run(arguments: list[str]) -> int:
    """A run now, in this process's sight: its exit code is ours."""
    words = parsed("run", arguments)
    with _scene(words) as (scene, places):
        due = scene.book.put_due(words.name, scene.now)
        store = open_schedules(places, own=words.own)
        return asyncio.run(_worked([store], config.load(places), AxesChange(), due.id, once=True, as_json=words.json))


def work(words: Namespace) -> int:
    """The user's own file, and the database of the project, where one is chosen and has it."""
    places = locate(words.directory)
    shared = bool(database_url(places))
    stores: list[TableSchedules] = [SqliteSchedules()] if is_there() or not shared else []
    if shared:
        stores = [*stores, open_schedules(places, make=not words.once)]
    stores = [one for one in stores if one.owner]
    return asyncio.run(_worked(stores, config.load(places), turned(words), once=words.once, as_json=words.json))


async def _worked(
    stores: Sequence[TableSchedules],
    loaded: config.LoadedSettings,
    axes: AxesChange,
    only: str = "",
    *,
    once: bool,
    as_json: bool,
) -> int:
    zone = system_zone()
    settings = loaded.settings.table("schedule", ScheduleSettings)

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

        def worker(store: TableSchedules) -> ScheduleWorker:
            ceiling = ceiling_of(loaded, axes, shared=store.shared)
            start = Starter(settings, stop, ceiling=ceiling, model="", shared=store.shared)
            return worker_of(store, settings, start, tell)

        workers = [worker(store) for store in stores]
        if not only:
            if not once and not as_json:
                complain("Working; Ctrl+C ends it.")
            await asyncio.gather(*(one.work(stop, once=once) for one in workers))
            return 0
        (one,) = workers
        claimed = one.take(only)
        result = await one.carry_out(claimed) if claimed else None
        return 1 if result is None or result.exit_code is None else result.exit_code
