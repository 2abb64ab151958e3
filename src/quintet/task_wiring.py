"""Durable tasks put together: imported by whoever asks for them first, so that no other start pays for it."""

from __future__ import annotations

from quintet.adapters.places import Places
from quintet.adapters.proc import process_start
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_store import SqliteTasks
from quintet.adapters.task_folder import TaskFolder
from quintet.domain.ports import Clock, Store
from quintet.engine.task_keeper import TaskKeeper


def make_keeper(store: Store, places: Places, clock: Clock) -> TaskKeeper:
    assert isinstance(store, SqliteStore)
    return TaskKeeper(SqliteTasks(store), TaskFolder(places.root, places.runs), clock, process_start)
