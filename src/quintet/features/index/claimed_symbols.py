"""Where symbols stand, for who claims them: the lines that the index has, if it knows a file with that very content."""

from __future__ import annotations

import asyncio
import os
from hashlib import blake2b

from quintet.adapters.files.paths import Places
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.settings.layers import LoadedSettings
from quintet.app.machine_parts import find_ripgrep
from quintet.domain.workers.claims import SymbolLines
from quintet.features.index.build import Job
from quintet.features.index.entries import FoundSymbol
from quintet.features.index.service import ProjectIndex
from quintet.features.index.store import IndexStore, index_path


class IndexedSymbols:
    """Port `SymbolFinder`. The index is brought up to date where it has another content of a file."""

    def __init__(self, places: Places, loaded: LoadedSettings) -> None:
        self._path = index_path(places)
        terms = make_terms(places, loaded.settings)
        self._index = ProjectIndex(self._path, Job(places.root, terms.protection, find_ripgrep()))

    async def lines(self, path: str, symbol: str, content: bytes) -> SymbolLines | None:
        digest = blake2b(content, digest_size=16).digest()
        outline = await asyncio.to_thread(self._outline, path, digest)
        if outline is None:
            await self._index.fresh()
            outline = await asyncio.to_thread(self._outline, path, digest)
        found = named(outline or [], symbol)
        if not found:
            return None
        return SymbolLines(min(one.line for one in found), max(one.end for one in found), digest.hex())

    def _outline(self, path: str, digest: bytes) -> list[FoundSymbol] | None:
        """What the file declares; None if the index knows it with another content, or not at all."""
        if not os.path.exists(self._path):
            return None
        store = IndexStore(self._path)
        try:
            return store.outline(path) if store.digest(path) == digest else None
        finally:
            store.close()

    async def close(self) -> None:
        await self._index.close()


def named(outline: list[FoundSymbol], symbol: str) -> list[FoundSymbol]:
    """The declarations of a symbol: by its full name, or by its name alone where one place has it."""
    wanted = symbol.replace("::", ".")
    if found := [one for one in outline if one.full_name == wanted]:
        return found
    found = [one for one in outline if one.name == wanted]
    return found if len({one.container for one in found}) == 1 else []
