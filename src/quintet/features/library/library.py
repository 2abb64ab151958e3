"""The project's library as tools and commands use it: searched by words, and by meaning where a model is configured.

The file is made when the first document goes in; looking into a library that is not there finds it empty. SQLite and
reading are work for a thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from quintet.adapters.models.embeddings import AT_ONCE, Embedder, likeness, nearest_by_signs, signs
from quintet.domain.base.errors import ModelError, NotFound, SettingsError
from quintet.features.library.passages import (
    Document,
    FoundPassages,
    LibraryStatus,
    PageText,
    Passage,
    fused,
    match_query,
)
from quintet.features.library.settings import LibrarySettings
from quintet.features.library.store import LibraryStore

if TYPE_CHECKING:
    from quintet.app.services import Opening
    from quintet.domain.settings.settings import Settings

T = TypeVar("T")
CANDIDATES = 50  # of each ranking, where two are made one
RESCORED = 200  # pages near by their signs that are compared by their numbers
EMPTY = "the library is empty; add documents with `quintet library add PATH…`"


class LocalLibrary:
    """The project's documents. A document that is not there is a NotFound.

    `clean` takes secrets out of what the model is told that makes vectors."""

    def __init__(self, path: str, settings: Settings, clean: Callable[[str], str] = str) -> None:
        self._path = path
        self._clean = clean
        self._settings = settings
        self._made: Embedder | None = None

    @property
    def embeddings(self) -> str:
        return self._settings.table("library", LibrarySettings).embeddings

    async def close(self) -> None:
        if self._made:
            await self._made.close()

    async def search(self, query: str, limit: int, format: str = "") -> FoundPassages:
        match_query(query)  # what cannot be searched for is said first
        if not os.path.exists(self._path):
            return FoundPassages((), note=EMPTY)
        if not self.embeddings:
            return FoundPassages(await self._do(lambda store: _by_words(store, query, limit, format)))
        try:
            embedder = self._embedder()
            wanted = (await embedder.embed([self._clean(query)]))[0]
        except (ModelError, SettingsError) as error:
            found = await self._do(lambda store: _by_words(store, query, limit, format))
            return FoundPassages(found, note=f"only by words: {error.message}")
        model = embedder.model
        found = await self._do(lambda store: _by_both(store, query, wanted, model, limit, format))
        return FoundPassages(found, "words and meaning")

    async def documents(self) -> list[Document]:
        return await self._do(lambda store: store.documents()) if os.path.exists(self._path) else []

    async def document(self, document: str) -> Document:
        return await self._there(lambda store: store.document(document))

    async def page(self, document: str, page: int) -> PageText:
        return await self._there(lambda store: store.page(store.document(document), page))

    async def around(self, passages: Sequence[Passage], characters: int) -> tuple[Passage, ...]:
        if not passages:
            return ()
        return await self._do(lambda store: tuple(store.around(passage, characters) for passage in passages))

    async def set_active(self, document: str, active: bool) -> Document:
        return await self._there(lambda store: store.set_active(store.document(document), active))

    async def remove(self, document: str) -> Document:
        def removed(store: LibraryStore) -> Document:
            found = store.document(document)
            store.remove(found)
            return found

        return await self._there(removed)

    async def status(self) -> LibraryStatus:
        if not os.path.exists(self._path):
            return LibraryStatus(0, 0, 0, 0, 0, 0, 0, self.embeddings)
        named = self._settings.models.get(self.embeddings)

        def counted(store: LibraryStore) -> LibraryStatus:
            documents = store.documents()
            return LibraryStatus(
                documents=len(documents),
                active=sum(document.active for document in documents),
                pages=sum(document.pages for document in documents),
                blank=sum(document.blank for document in documents),
                words=sum(document.words for document in documents),
                bytes=store.size(),
                vectors=store.vectors(named.model)[0] if named else 0,
                embeddings=self.embeddings,
            )

        return await self._do(counted)

    async def embed_new(self, progress: Callable[[int, int], None]) -> int:
        """Vectors for the pages that have none of the configured model; returns how many were made."""
        embedder = self._embedder()
        have, of = await self._do(lambda store: store.vectors(embedder.model))
        made = 0
        while rows := await self._do(lambda store: store.unvectored(embedder.model, AT_ONCE)):
            vectors = await embedder.embed([self._clean(text) for _, text in rows])
            kept = [(row, signs(vector), vector.tobytes()) for (row, _), vector in zip(rows, vectors, strict=True)]
            await self._do(lambda store, kept=kept: store.add_vectors(embedder.model, kept))  # type: ignore[misc]
            made += len(rows)
            progress(have + made, of)
        return made

    def _embedder(self) -> Embedder:
        if self._made is None:
            self._made = Embedder(self._settings.models[self.embeddings], self.embeddings)
        return self._made

    async def _there(self, work: Callable[[LibraryStore], T]) -> T:
        if not os.path.exists(self._path):
            raise NotFound(EMPTY)
        return await self._do(work)

    async def _do(self, work: Callable[[LibraryStore], T]) -> T:
        def done() -> T:
            store = LibraryStore(self._path)
            try:
                return work(store)
            finally:
                store.close()

        return await asyncio.to_thread(done)


def open_library(opening: Opening) -> LocalLibrary:
    return LocalLibrary(opening.places.library, opening.settings, opening.vault.text)


def _by_words(store: LibraryStore, query: str, limit: int, format: str) -> tuple[Passage, ...]:
    rows = store.search(query, limit, format)
    return store.passages([(row, 1 / place) for place, row in enumerate(rows, 1)], query)


def _by_both(
    store: LibraryStore, query: str, wanted: Sequence[float], model: str, limit: int, format: str
) -> tuple[Passage, ...]:
    by_words = store.search(query, CANDIDATES, format)
    near = nearest_by_signs(signs(wanted), store.signs(model, format), RESCORED)
    by_meaning = sorted(near, key=lambda row: -likeness(wanted, store.numbers(row)))[:CANDIDATES]
    return store.passages(fused((by_words, by_meaning), limit), query)
