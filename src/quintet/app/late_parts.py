"""Parts that most sessions never ask for: the repository, durable tasks, rows of the board."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from quintet.adapters.files.paths import Places
from quintet.adapters.git.repository import GitRepository
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.layers import load
from quintet.adapters.stores.chosen import open_store
from quintet.adapters.tasks.row_pages import task_files
from quintet.app.services import Opening, Services
from quintet.domain.ports.ports import Clock, Repository
from quintet.domain.ports.stores import ProjectStore
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.features.registry import features
from quintet.surfaces.tables import complain

T = TypeVar("T")


def repository(opening: Opening) -> Repository:
    """The project's repository, with what features add that can be reviewed."""
    found: Repository = GitRepository(opening.processes, opening.files)
    for feature in features():
        if feature.subjects:
            found = feature.load(feature.subjects)(opening, found)
    return found


def make_keeper(store: ProjectStore, places: Places, clock: Clock, redacted: Callable[[str], str]) -> TaskKeeper:
    tasks = store.task_store()
    return TaskKeeper(tasks, task_files(places, tasks.tasks), clock, process_identity, redacted)


def kept(places: Places, work: Callable[[TaskKeeper], Awaitable[T]]) -> T:
    """Does some work with the project's task keeper, for a command without a session."""

    async def run() -> T:
        store = open_store(places)
        if store.notice:
            complain(store.notice)
        try:
            redacted = Vault(places, load(places).settings).text
            return await work(make_keeper(store, places, SystemClock(), redacted))
        finally:
            await store.close()

    return asyncio.run(run())


def board_rows(services: Services) -> list[BoardEntry]:
    """What features have under way: of those that a session has asked for something, and those without a service."""
    rows: list[BoardEntry] = []
    without = ((one, services.opening) for one in features() if one.board and not one.service)
    for feature, held in (*services.opened(), *without):
        try:
            rows += feature.load(feature.board)(held) if feature.board else ()
        except Exception as error:  # its own code: the board is shown all the same
            about = f"its entries cannot be shown: {type(error).__name__}: {error}"
            rows.append(BoardEntry(BoardKind.FEATURE, feature.name, "✗", feature.name, about, "warning"))
    return rows
