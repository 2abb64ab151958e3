"""Durable tasks and the doctor put together: imported by whoever asks first, so that no other start pays for it."""

from __future__ import annotations

from collections.abc import Callable

from quintet.adapters.places import Places
from quintet.adapters.premises import PremisesHere
from quintet.adapters.proc import process_start
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_store import SqliteTasks
from quintet.adapters.task_folder import TaskFolder
from quintet.domain.ports import Clock, Store
from quintet.domain.readiness import Part
from quintet.domain.settings import Settings
from quintet.engine.doctor import Look
from quintet.engine.task_keeper import TaskKeeper


def make_keeper(store: Store, places: Places, clock: Clock, redacted: Callable[[str], str]) -> TaskKeeper:
    assert isinstance(store, SqliteStore)
    return TaskKeeper(SqliteTasks(store), TaskFolder(places.root, places.runs), clock, process_start, redacted)


def make_look(places: Places, settings: Settings, clock: Clock) -> Look:
    def parts() -> list[Part]:
        from quintet.adapters import parts as here
        from quintet.app import find_ripgrep

        around = here.Surroundings(places.root, find_ripgrep(), own_code=False, pythons=())
        needed = [here.look(name, around) for name in ("git", "ripgrep")]
        return [*needed, here.sandbox_in_force(settings.sandbox.use)]

    return Look(PremisesHere(places, parts), settings.doctor.free_bytes, clock, process_start)
