"""The library's file: a document is in it whole or not at all, and a file of a newer Quintet is left alone."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from quintet.adapters.models.embeddings import nearest_by_signs, signs
from quintet.domain.base.errors import NotFound, StoreDamaged, StoreNewer
from quintet.features.library.store import LibraryStore, NewDocument


def new(path: str = "/a.pdf", digest: str = "d") -> NewDocument:
    return NewDocument("A", path, "pdf", digest, "2026-01-01T00:00:00.000Z")


def texts(store: LibraryStore, query: str) -> list[str]:
    rows = store.search(query, 10)
    return [passage.text for passage in store.passages([(row, 1.0) for row in rows], query)]


def torn(pages: list[str]) -> Iterator[str]:
    yield from pages
    raise KeyboardInterrupt


def test_whatever_stops_a_document_leaves_all_as_it_was(tmp_path: Path) -> None:
    store = LibraryStore(str(tmp_path / "s" / "library.db"))
    store.put(new(), ["old whale"])
    with pytest.raises(KeyboardInterrupt):
        store.put(new(digest="e"), torn(["new whale", "and more"]))
    with pytest.raises(KeyboardInterrupt):
        store.put(new("/b.pdf"), torn(["another whale"]))
    assert [(one.path, one.digest, one.pages) for one in store.documents()] == [("/a.pdf", "d", 1)]
    assert texts(store, "whale") == ["old whale"]


def test_what_was_replaced_or_removed_is_not_found_again(tmp_path: Path) -> None:
    store = LibraryStore(str(tmp_path / "library.db"))
    first = store.put(new(), ["a whale", "", "a ship"])
    assert (first.pages, first.words, first.blank) == (3, 4, 1)
    assert store.put(new(digest="e"), ["a boat"]).id == first.id
    assert (texts(store, "whale ship"), texts(store, "boat")) == ([], ["a boat"])
    store.remove(store.document("A"))
    assert texts(store, "boat") == []
    with pytest.raises(NotFound):
        store.document("A")
    store.close()
    with apsw.Connection(str(tmp_path / "library.db")) as connection:
        connection.execute("INSERT INTO lexicon(lexicon) VALUES('integrity-check')")
        assert connection.execute("SELECT count(*) FROM pages").fetchall() == [(0,)]


def test_words_are_found_in_their_other_forms_and_without_accents(tmp_path: Path) -> None:
    store = LibraryStore(str(tmp_path / "library.db"))
    store.put(new(), ["The café was singing songs."])
    assert texts(store, "cafe") == texts(store, "sings") == texts(store, "song") == ["The café was singing songs."]


def test_a_library_of_a_newer_quintet_is_left_untouched_and_a_damaged_one_is_said(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreNewer, match="version 99"):
        LibraryStore(str(path))
    assert path.read_bytes() == before
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreDamaged):
        LibraryStore(str(path))


def test_the_nearest_by_signs_differ_in_the_fewest() -> None:
    vectors = {1: [1.0, 1.0, -1.0], 2: [-1.0, -1.0, 1.0], 3: [1.0, -1.0, -1.0]}
    kept = [(key, signs(vector)) for key, vector in vectors.items()]
    assert nearest_by_signs(signs([0.5, 0.2, -0.1]), kept, 2) == [1, 3]
