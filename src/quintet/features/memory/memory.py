"""The project's memory as sessions use it: what fits an input, and what is kept of a run.

SQLite is work for a thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.system import SystemClock
from quintet.domain.base.redaction import Redaction
from quintet.domain.memory.remarks import Remark, within
from quintet.domain.memory.shown import Lesson, RewoundLesson, RunShown
from quintet.domain.settings.settings import Settings
from quintet.features.memory.finding import match_any, near, words_of
from quintet.features.memory.holding import stale, why_not
from quintet.features.memory.policy import proposed
from quintet.features.memory.settings import MemorySettings
from quintet.features.memory.store import MemoryStore, database
from quintet.features.memory.values import SESSION, CommandCheck, MemoryEntry, NewMemory, TakenBackCheck, Tier

if TYPE_CHECKING:
    from quintet.app.services import Opening

T = TypeVar("T")
CANDIDATES = 24  # that are looked at closely
MOST_TOLD = 8  # unasked, at the beginning of a turn


class ProjectMemory:
    """`clean` takes secrets out of what is kept."""

    def __init__(
        self,
        path: str,
        files: ProjectFiles,
        settings: MemorySettings,
        clean: Callable[[str], str] = str,
        now: Callable[[], str] = SystemClock().now,
    ) -> None:
        self.path = path
        self._files = files
        self._settings = settings
        self._looks = Redaction(by_looks=True)
        self._known = clean
        self._now = now

    @property
    def exists(self) -> bool:
        return os.path.exists(self.path)

    def clean(self, text: str) -> str:
        """Without secrets: those that are known, and what only looks like one."""
        return self._looks.text(self._known(text))

    def do(self, work: Callable[[MemoryStore], T]) -> T:
        with closing(MemoryStore(self.path)) as store:
            return work(store)

    # ── what is known

    async def relevant(self, text: str, budget: int) -> tuple[Remark, ...]:
        if not (self._settings.recall and self.exists):
            return ()
        return await asyncio.to_thread(self.do, lambda store: self._fitting(store, text, budget))

    def _fitting(self, store: MemoryStore, text: str, budget: int) -> tuple[Remark, ...]:
        words = words_of(text)
        if not words or store.is_off:
            return ()
        found = near(words, store.search(match_any(words), CANDIDATES))
        held = [one for one in found if not why_not(one.check, self._files)]
        return tuple(within((one.remark for one in held[:MOST_TOLD]), budget))

    async def search(self, query: str, limit: int, tier: Tier | None = None) -> list[MemoryEntry]:
        """What matches a query, also what no longer holds: then it says so."""
        if not self.exists:
            return []
        return await asyncio.to_thread(self.do, lambda store: self.found(store, query, limit, tier))

    def found(self, store: MemoryStore, query: str, limit: int, tier: Tier | None = None) -> list[MemoryEntry]:
        return self.looked_at(store.search(match_any(words_of(query)), limit, tier))

    def looked_at(self, entries: list[MemoryEntry]) -> list[MemoryEntry]:
        """The entries with whether they hold now, whatever the doctor marked."""
        why = stale(entries, self._files)
        return [structs.replace(one, stale=why.get(one.id, "")) for one in entries]

    # ── what is kept

    async def learn(self, shown: RunShown) -> tuple[Lesson, ...]:
        found = [one for new in proposed(shown) if (one := self._without_secrets(new))] if self._settings.learn else []
        if not found:
            return ()
        source = f"{SESSION}{shown.session}" + (f", {shown.turn}" if shown.turn else "")
        return await asyncio.to_thread(self.do, lambda store: self._kept(store, found, source))

    def _kept(self, store: MemoryStore, found: list[NewMemory], source: str) -> tuple[Lesson, ...]:
        if store.is_off:
            return ()
        kept = store.learn(found, source, self._now(), self._settings.keep_outcomes)
        return tuple(Lesson(one.id, one.text) for one in kept)

    async def rewound(self, taken: Sequence[str], given: Sequence[str]) -> tuple[RewoundLesson, ...]:
        if not self.exists:
            return ()
        left = await asyncio.to_thread(self.do, lambda store: store.rewound(taken, given))
        return tuple(RewoundLesson(one.id, one.text, not isinstance(one.check, TakenBackCheck)) for one in left)

    def _without_secrets(self, new: NewMemory) -> NewMemory | None:
        """A command that has one in it is not worth keeping: without it, it is another command."""
        if isinstance(new.check, CommandCheck) and self.clean(new.text) != new.text:
            return None
        return structs.replace(new, text=self.clean(new.text), evidence=self.clean(new.evidence))


def memory_of(state: str, files: ProjectFiles, settings: Settings, clean: Callable[[str], str]) -> ProjectMemory:
    return ProjectMemory(database(state), files, settings.table("memory", MemorySettings), clean)


def open_memory(opening: Opening) -> ProjectMemory:
    return memory_of(opening.places.state, opening.files, opening.settings, opening.vault.text)


def opened(opening: Opening) -> ProjectMemory:
    """The session's own, for the places of the core that ask for it."""
    memory: ProjectMemory = opening.services["memory"]
    return memory
