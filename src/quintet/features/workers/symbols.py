"""The lines of symbols that tasks claim, in what the target holds: asked of the index, and remembered.

Without an index, or where it knows another content of the file or no such symbol, the claim is of the whole file. It
is asked again after a while, since an index comes along behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from quintet.adapters.git.worktrees import Worktrees
from quintet.domain.base.errors import QuintetError
from quintet.domain.ports.workers import SymbolFinder
from quintet.domain.tasks.task import Intent
from quintet.domain.workers.claims import SymbolLines, with_lines

MOST_BYTES = 2_000_000  # of a file whose symbols are looked for
AGAIN_SECONDS = 20.0  # until what was not found is looked for again
MOST_KNOWN = 5_000


class ClaimedSymbols:
    """Of one worker."""

    def __init__(
        self, trees: Worktrees, opened: Callable[[], SymbolFinder | None], monotonic: Callable[[], float]
    ) -> None:
        self._trees = trees
        self._opened = opened
        self._monotonic = monotonic
        self._finder: SymbolFinder | None = None
        self._blobs: dict[tuple[str, str], str] = {}  # by commit and path
        self._known: dict[tuple[str, str, str], tuple[SymbolLines | None, float]] = {}  # by blob, path and symbol

    async def with_lines(self, intent: Intent, commit: str) -> Intent:
        try:
            return with_lines(intent, await self._lines(intent, commit))
        except QuintetError:  # no index, no git: the whole file is safe
            return with_lines(intent, None)

    async def _lines(self, intent: Intent, commit: str) -> SymbolLines | None:
        if len(self._blobs) > MOST_KNOWN or len(self._known) > MOST_KNOWN:
            self._blobs.clear()
            self._known.clear()
        at = (commit, intent.path)
        if at not in self._blobs:
            self._blobs[at] = await asyncio.to_thread(self._trees.blob_of, commit, intent.path)
        blob, now = self._blobs[at], self._monotonic()
        if not blob:
            return None
        key = (blob, intent.path, intent.symbol)
        found, asked = self._known.get(key, (None, -AGAIN_SECONDS))
        if found is None and now - asked >= AGAIN_SECONDS:
            found = await self._asked(blob, intent)
            self._known[key] = (found, now)
        return found

    async def _asked(self, blob: str, intent: Intent) -> SymbolLines | None:
        if self._finder is None:
            self._finder = self._opened()
        content = await asyncio.to_thread(self._trees.content_of, blob, MOST_BYTES) if self._finder else None
        if self._finder is None or content is None:
            return None
        return await self._finder.lines(intent.path, intent.symbol, content)

    async def close(self) -> None:
        if self._finder:
            await self._finder.close()
