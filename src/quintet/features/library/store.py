"""The library's file: documents, the text of their pages, an index of its words, and vectors.

A document goes in whole or not at all, its pages one at a time, so that no size of it is held in memory. The file is
the only copy of what was read; one that was written by a newer Quintet is refused, untouched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
from msgspec import Struct, structs

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.sqlite.database import BUSY_MS, clear_errors, load_queries, unmarked
from quintet.domain.base.errors import NotFound, StoreError, StoreNewer
from quintet.domain.base.wording import did_you_mean
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.features.library.passages import Document, PageText, Passage, chosen, match_query

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

T = TypeVar("T")
VERSION = 1
INDEX = "lexicon"  # what is said of damage to the index names it
SNIPPET_WORDS = 32
LEAD = 160  # characters of a page without a match that stand for it


class NewDocument(Struct, frozen=True):
    """A document that is to go in."""

    title: str
    path: str
    format: str
    digest: str
    added: str


class LibraryStore:
    """Belongs to one thread at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._sql = load_queries("library.sql")
        with clear_errors(path):
            private_folder(os.path.dirname(path))
            self._connection = apsw.Connection(path)
            self._connection.set_busy_timeout(BUSY_MS)
            self._prepare()

    def _prepare(self) -> None:
        version = int(self._connection.pragma("user_version"))
        if version > VERSION:
            self._connection.close()
            raise StoreNewer(f"{self.path}: version {version}, this Quintet supports {VERSION}; it was not changed")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if version == 0:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if not self._connection.pragma("user_version"):  # another process may have been quicker
                    self._connection.execute(self._sql["create"])
                    self._connection.pragma("user_version", VERSION)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            os.chmod(self.path, 0o600)

    def close(self) -> None:
        self._connection.close()

    # ── documents

    def documents(self) -> list[Document]:
        return [structs.replace(Document(*row), active=bool(row[7])) for row in self._all("documents")]

    def document(self, wanted: str) -> Document:
        documents = self.documents()
        found = chosen(documents, wanted)
        if found is None:
            close = did_you_mean(wanted, [document.title for document in documents])
            raise NotFound(
                f'"{wanted}" does not match exactly one document.{close}',
                hint="`quintet library list` shows them, with their ids.",
            )
        return found

    def put(self, new: NewDocument, pages: Iterable[str]) -> Document:
        """Put a document in, or in the place of the one from the same path; whatever stops it leaves all as it was."""
        with clear_errors(self.path):
            self._execute("BEGIN IMMEDIATE")
            try:
                before = next((one for one in self.documents() if one.path == new.path), None)
                if before:
                    id = before.id
                    self._empty(id)
                    self._run("change_document", new.title, new.format, new.added, new.digest, id)
                else:
                    columns = (new.title, new.path, new.format, 1, new.added, new.digest)
                    id = int(self._all("add_document", *columns)[0][0])
                count = words = blank = 0
                for text in pages:
                    count += 1
                    row = int(self._all("add_page", id, count, text)[0][0])
                    words += len(text.split())
                    if text:
                        self._run("add_words", row, text)
                    else:
                        blank += 1
                self._run("count_pages", count, words, blank, id)
                self._execute("COMMIT")
            except BaseException:
                self._execute("ROLLBACK")
                raise
        return next(one for one in self.documents() if one.id == id)

    def remove(self, document: Document) -> None:
        with clear_errors(self.path), self._connection:
            self._empty(document.id)
            self._run("drop_document", document.id)

    def _empty(self, id: int) -> None:
        for name in ("drop_words", "drop_vectors", "drop_pages"):
            self._run(name, id)

    def set_active(self, document: Document, active: bool) -> Document:
        self._run("set_active", int(active), document.id)
        return structs.replace(document, active=active)

    def page(self, document: Document, page: int) -> PageText:
        rows = self._all("page", document.id, page)
        if not rows:
            raise NotFound(f"document {document.id} ({document.title}) has no page {page}; it has {document.pages}")
        return PageText(document.id, document.title, page, document.pages, rows[0][0])

    def size(self) -> int:
        paths = (self.path, f"{self.path}-wal")
        return sum(os.path.getsize(path) for path in paths if os.path.exists(path))

    # ── its health

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file; all of it is read."""
        with clear_errors(self.path):
            said = [str(row[0]) for row in self._connection.execute("PRAGMA quick_check")]
        return [] if said == ["ok"] else said

    def index_again(self) -> None:
        """Make the index of words anew, from the pages."""
        with clear_errors(self.path), self._connection:
            self._run("empty_lexicon")
            self._run("fill_lexicon")

    # ── search by words

    def search(self, query: str, limit: int, format: str = "") -> list[int]:
        """The rows of pages that fit, the best first: those with all the words, then those with any."""
        every, any_of = match_query(query)
        found = [int(row[0]) for row in self._all("search", every, format, limit)]
        if len(found) < limit and any_of != every:
            known = set(found)
            more = [int(row[0]) for row in self._all("search", any_of, format, limit + len(found))]
            found += [row for row in more if row not in known]
        return found[:limit]

    def passages(self, rows: Sequence[tuple[int, float]], query: str) -> tuple[Passage, ...]:
        """What to show of these rows with their scores; a page that has none of the words shows its beginning."""
        any_of = match_query(query)[1]
        found = []
        for row, score in rows:
            document, title, page, text = self._all("place", row)[0]
            marked = self._all("snippet", SNIPPET_WORDS, any_of, row)
            shown = marked[0][0] if marked else text[:LEAD] + ("…" if len(text) > LEAD else "")
            plain, matches = unmarked(" ".join(shown.split()))
            found.append(Passage(document, title, page, plain, round(score, 4), matches))
        return tuple(found)

    def around(self, passage: Passage, characters: int) -> Passage:
        """The passage with more of its page: so many characters around the first match, or from the beginning on."""
        rows = self._all("page", passage.document, passage.page)
        text = " ".join(str(rows[0][0]).split()) if rows else ""
        core = passage.text.strip("…")
        at = text.find(core[:60])
        first = at + passage.matches[0][0] - passage.text.find(core) if at >= 0 and passage.matches else max(at, 0)
        start = max(0, min(first - characters // 3, len(text) - characters))
        end = start + characters
        lead, tail = "…" if start else "", "…" if end < len(text) else ""
        return structs.replace(passage, text=f"{lead}{text[start:end]}{tail}", matches=())

    # ── vectors

    def unvectored(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Pages with text that have no vector of this model yet."""
        return [(int(row), str(text)) for row, text in self._all("unvectored", model, limit)]

    def add_vectors(self, model: str, vectors: Sequence[tuple[int, bytes, bytes]]) -> None:
        with clear_errors(self.path), self._connection:
            for row, signs, numbers in vectors:
                self._run("add_vector", row, model, signs, numbers)

    def signs(self, model: str, format: str = "") -> list[tuple[int, bytes]]:
        return self._all("signs", model, format)

    def numbers(self, row: int) -> bytes:
        return bytes(self._all("numbers", row)[0][0])

    def vectors(self, model: str) -> tuple[int, int]:
        """How many pages have a vector of this model, and how many could have one."""
        return int(self._all("count_vectors", model)[0][0]), int(self._all("to_vector")[0][0])

    def _all(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        with clear_errors(self.path):
            return self._connection.execute(self._sql[name], values).fetchall()

    def _run(self, name: str, *values: Any) -> None:
        self._connection.execute(self._sql[name], values)

    def _execute(self, sql: str) -> None:
        self._connection.execute(sql)


LIBRARY_INDEX = FindingKind(
    "LIBRARY_INDEX",
    Severity.WARNING,
    HealthScope.STATE,
    "The library's search index is damaged.",
    "rebuild it from the pages",
    fixable=True,
)
LIBRARY_DAMAGED = FindingKind(
    "LIBRARY_DAMAGED",
    Severity.WARNING,
    HealthScope.STATE,
    "The file of the library is damaged.",
    "Move library.db away, then add the documents again: quintet library add PATH…",
)
LIBRARY_UNUSABLE = FindingKind(
    "LIBRARY_UNUSABLE",
    Severity.WARNING,
    HealthScope.STATE,
    "The file of the library cannot be opened, for example because a newer Quintet wrote it.",
    "See the finding's message.",
)
KINDS = (LIBRARY_INDEX, LIBRARY_DAMAGED, LIBRARY_UNUSABLE)


def store_is_whole(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor. Only a thorough look reads the file."""
    path = checkup.places.library
    if not checkup.thorough or not os.path.exists(path):
        return
    try:
        damage = _opened(path, LibraryStore.damage)
    except StoreError as error:
        yield LIBRARY_UNUSABLE.of("library.db", error.message, error.hint)
        return
    if damage and all(INDEX in line for line in damage):
        problem = f"the library's index of words is damaged: {damage[0]}"
        yield LIBRARY_INDEX.of("library.db", problem)
    elif damage:
        advice = f"Move {path} away, then add the documents again: quintet library add PATH…"
        yield LIBRARY_DAMAGED.of("library.db", f"{path}: {damage[0]}", advice)


def mend_index(checkup: Checkup) -> list[str]:
    if not any(finding.fixable for finding in store_is_whole(checkup)):
        return []
    _opened(checkup.places.library, LibraryStore.index_again)
    return ["rebuilt the library's index of words"]


def _opened(path: str, do: Callable[[LibraryStore], T]) -> T:
    store = LibraryStore(path)
    try:
        return do(store)
    finally:
        store.close()
