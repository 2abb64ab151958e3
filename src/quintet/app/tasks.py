"""Durable tasks, the doctor's look and whoever does the work: imported by whoever asks first."""

from __future__ import annotations

from collections.abc import Callable

from quintet.adapters.files.paths import Places
from quintet.adapters.processes.system import process_start
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_rows import SqliteTasks
from quintet.adapters.tasks.health_look import ProjectHealth
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.app import machine_parts as here
from quintet.app.open import find_ripgrep
from quintet.domain.ports.ports import Clock, Store
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.tool_spec import MachinePart
from quintet.engine.cycle.doctor import Look
from quintet.engine.cycle.task_keeper import TaskKeeper


def make_keeper(store: Store, places: Places, clock: Clock, redacted: Callable[[str], str]) -> TaskKeeper:
    assert isinstance(store, SqliteStore)
    return TaskKeeper(SqliteTasks(store), TaskFolder(places.root, places.runs), clock, process_start, redacted)


def make_look(places: Places, settings: Settings, clock: Clock) -> Look:
    def parts() -> list[MachinePart]:
        around = here.PartSources(places.root, find_ripgrep(), own_code=False, pythons=())
        needed = [here.look(name, around) for name in ("git", "ripgrep")]
        return [*needed, here.sandbox_in_force(settings.sandbox.use)]

    return Look(ProjectHealth(places, parts), settings.doctor.free_bytes, clock, process_start)
