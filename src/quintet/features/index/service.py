"""The index as a session uses it: kept up to date by a process of its own, and looked at in threads.

That process starts with the first question and ends with the session. An index that was never complete answers with
what is in so far, and says so.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from quintet.adapters.processes.lifeline import watched
from quintet.adapters.processes.piped_child import Piped
from quintet.adapters.processes.processes import own_environment
from quintet.app.machine_parts import find_ripgrep
from quintet.domain.base.errors import StoreError, ToolFailed
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.features.index.build import Job
from quintet.features.index.entries import FittingFile, FoundSymbol, References
from quintet.features.index.indexer import IndexTask, Stand
from quintet.features.index.repo_map import drawn_map
from quintet.features.index.search import find_references, find_symbols, ranked_files, search_code
from quintet.features.index.store import IndexStore, index_path

if TYPE_CHECKING:
    from quintet.app.services import Opening

T = TypeVar("T")
FRESH_SECONDS = 3.0  # that a question waits for changes to go in
FIRST_SECONDS = 10.0  # that it waits where there is no index yet
MOST_MAPPED = 300  # files


class ProjectIndex:
    """Belongs to one event loop."""

    def __init__(self, path: str, job: Job) -> None:
        self._path, self._job = path, job
        self._child: Piped | None = None
        self._starting: asyncio.Task[None] | None = None
        self._hearing: asyncio.Task[None] | None = None
        self._asked = 0  # looks
        self._came = asyncio.Event()
        self.stand = Stand()

    @property
    def root(self) -> str:
        return self._job.root

    @property
    def exists(self) -> bool:
        return os.path.exists(self._path)

    @property
    def building(self) -> bool:
        return self._child is not None and self.stand.looks < self._asked

    # ── keeping

    def begin(self) -> None:
        """Have what has changed brought in, in the background."""
        if self._starting is None:
            self._asked = 1
            self._starting = asyncio.get_running_loop().create_task(self._start())
        elif self._child and not self.building:
            self._asked += 1
            with suppress(OSError, RuntimeError):
                self._child.writer.write(b"look\n")

    async def _start(self) -> None:
        task = msgspec.json.encode(IndexTask(self._path, self._job))
        argv = (sys.executable, "-P", "-m", "quintet.features.index.indexer")
        try:
            child = await Piped.start(watched(argv, "/"), own_environment(), beside=True)
        except ToolFailed as error:
            self.stand = Stand(self._asked, problem=error.message)
            return
        self._child = child
        child.writer.write(task + b"\n")
        self._hearing = asyncio.get_running_loop().create_task(self._hear(child))

    async def _hear(self, child: Piped) -> None:
        while line := await child.reader.readline():
            with suppress(msgspec.DecodeError):
                self.stand = msgspec.json.decode(line, type=Stand)
                self._came.set()
        self.stand = Stand(self._asked, problem=self.stand.problem or "the process that keeps the index has ended")
        self._came.set()

    async def fresh(self) -> str:
        """Wait until what has changed is in; what is missing if that takes long."""
        self.begin()
        assert self._starting
        await asyncio.shield(self._starting)
        if self._child is None:
            return self.stand.problem
        seconds = FRESH_SECONDS if self.exists else FIRST_SECONDS
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.building:
                    self._came.clear()
                    await self._came.wait()
        return self.note()

    def note(self) -> str:
        if self.stand.problem:
            return f"The index is not up to date: {self.stand.problem}"
        if self.building:
            share = f" ({self.stand.done:,} of {self.stand.of:,} files)" if self.stand.of else ""
            return f"The index is being built{share}: there may be more."
        return ""

    async def close(self) -> None:
        if self._starting:
            with suppress(asyncio.CancelledError):
                await self._starting
        if self._child:
            await self._child.end()
        if self._hearing:
            self._hearing.cancel()
            with suppress(asyncio.CancelledError):
                await self._hearing

    # ── looking

    async def symbols(self, name: str, kind: str, most: int) -> list[FoundSymbol]:
        return await self._look(lambda store: find_symbols(store, name, kind, most), [])

    async def references(self, name: str, most: int) -> References:
        return await self._look(lambda store: find_references(store, self.root, name, most), References((), 0))

    async def search(self, question: str, most: int) -> list[FittingFile]:
        return await self._look(lambda store: search_code(store, self.root, question, most), [])

    async def outline(self, path: str) -> list[FoundSymbol]:
        return await self._look(lambda store: store.outline(path), [])

    async def map(self, tokens: int, touched: Sequence[str] = (), mentioned: Sequence[str] = ()) -> str:
        def drawn(store: IndexStore) -> str:
            files = ranked_files(store, MOST_MAPPED, touched, mentioned)
            return drawn_map([file.path for file in files], store.outline, tokens)[0]

        return await self._look(drawn, "")

    async def _look(self, work: Callable[[IndexStore], T], nothing: T) -> T:
        def done() -> T:
            if not os.path.exists(self._path):
                return nothing
            store = IndexStore(self._path)
            try:
                return work(store)
            finally:
                store.close()

        try:
            return await asyncio.to_thread(done)
        except StoreError as error:
            raise ToolFailed(error.message, hint=error.hint) from error


def open_index(opening: Opening) -> ProjectIndex:
    job = Job(opening.places.root, opening.terms.protection, find_ripgrep())
    return ProjectIndex(index_path(opening.places), job)


def board_rows(index: ProjectIndex) -> list[BoardEntry]:
    """How far the building is."""
    if not index.building or not index.stand.of:
        return []
    about = f"{index.stand.done:,} of {index.stand.of:,} files"
    return [BoardEntry(BoardKind.FEATURE, "index", "●", "building the index", about, "accent")]
