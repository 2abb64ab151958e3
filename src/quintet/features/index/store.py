"""The file of the index: `index.db` in the project's state folder. Made again from the project whenever it is lost.

What a file has in it goes in or out in one transaction, so whatever ends the process leaves a right index of the files
that are in. One process writes, and holds the lock; any number reads meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

import apsw
from msgspec import Struct

from quintet.adapters.files.private_files import alone, private_folder
from quintet.adapters.sqlite.database import BUSY_MS, clear_errors, load_queries
from quintet.domain.base.errors import StoreError
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.features.index.entries import Extract, FoundSymbol
from quintet.features.index.words import as_term, parts, spread

if TYPE_CHECKING:
    from quintet.adapters.files.paths import Places
    from quintet.adapters.settings.checkup import Checkup

VERSION = 2  # one of another version is made anew
SQL = os.path.join(os.path.dirname(__file__), "index.sql")
MOST_ROWS = 2000  # of symbols that are ranked
CACHE_KB = 64_000


class KnownFile(Struct, frozen=True):
    id: int
    size: int
    time: int
    digest: bytes


class RankedFile(Struct, frozen=True):
    id: int
    path: str
    rank: float
    lines: int


def index_path(places: Places) -> str:
    return os.path.join(places.state, "index.db")


def writing(path: str) -> AbstractContextManager[bool]:
    """Whether this process is the one that writes the index, as long as this lasts."""
    private_folder(os.path.dirname(path))
    return alone(f"{path}.lock")


def is_written(path: str) -> bool:
    """Whether another process writes it now."""
    if not os.path.exists(f"{path}.lock"):
        return False
    with writing(path) as mine:
        return not mine


class IndexStore:
    """Belongs to one thread at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._sql = load_queries(SQL)
        self._spread: dict[bytes, str] = {}  # names of folders and files with their parts
        with clear_errors(path):
            private_folder(os.path.dirname(path))
            self._connection = apsw.Connection(path)
            self._connection.set_busy_timeout(BUSY_MS)
            self._prepare()

    def _prepare(self) -> None:
        db = self._connection
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        if db.pragma("user_version") == VERSION:
            return
        db.execute("BEGIN IMMEDIATE")
        try:
            if db.pragma("user_version") != VERSION:  # another process may have been quicker
                for name in ("terms", "symbols", "links", "files", "about"):
                    db.execute(f"DROP TABLE IF EXISTS {name}")
                db.execute(self._sql["create"])
                db.pragma("user_version", VERSION)
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        os.chmod(self.path, 0o600)

    def close(self) -> None:
        self._connection.close()

    # ── writing

    def known(self) -> dict[str, KnownFile]:
        return {path: KnownFile(id, size, time, digest) for path, id, size, time, digest in self._all("known")}

    def put(self, extracts: Iterable[Extract], known: dict[str, KnownFile]) -> None:
        """Bring what was taken out of files in, in place of what was there; `known` is brought up to date."""
        with clear_errors(self.path), self._connection:
            for one in extracts:
                before = known.get(one.path)
                if one.gone:
                    self._drop(known.pop(one.path, None))
                elif one.same and before:
                    self._run("stamp_file", *one.stamp, before.id)
                    known[one.path] = KnownFile(before.id, *one.stamp, one.digest)
                else:
                    known[one.path] = KnownFile(self._put(one, before), *one.stamp, one.digest)

    def _put(self, one: Extract, before: KnownFile | None) -> int:
        fields = (*one.stamp, one.digest, one.language, one.lines, one.extent, one.broken, one.identifiers)
        if before:
            id = before.id
            self._run("drop_symbols", id)
            self._run("drop_words", id)
            self._run("change_file", *fields, id)
        else:
            id = int(self._all("add_file", one.path, *fields)[0][0])
        self._connection.executemany(
            self._sql["add_symbol"], ((id, s.name, s.kind, s.container, s.line, s.end, s.text) for s in one.symbols)
        )
        path = spread((name.encode() for name in one.path.replace(".", "/").replace("-", "_").split("/")), self._spread)
        self._run("add_words", id, path, one.names, one.often, one.words)
        return id

    def remove(self, files: Iterable[KnownFile]) -> None:
        with clear_errors(self.path), self._connection:
            for file in files:
                self._drop(file)

    def _drop(self, file: KnownFile | None) -> None:
        if file:
            for name in ("drop_symbols", "drop_words", "drop_links", "drop_file"):
                self._run(name, file.id)

    def about(self, key: str) -> str:
        rows = self._all("about", key)
        return str(rows[0][0]) if rows else ""

    def set_about(self, values: Mapping[str, str]) -> None:
        with clear_errors(self.path), self._connection:
            for key, value in values.items():
                self._run("set_about", key, value)

    def declarations(self) -> list[tuple[int, str]]:
        return self._all("declarations")

    def uses(self) -> Iterator[tuple[int, bytes]]:
        return iter(self._all("uses"))

    def set_ranks(self, ranks: Mapping[int, float], links: Mapping[int, bytes]) -> None:
        with clear_errors(self.path), self._connection:
            self._run("clear_ranks")
            self._run("clear_links")
            self._connection.executemany(self._sql["set_rank"], ((rank, id) for id, rank in ranks.items()))
            self._connection.executemany(self._sql["add_links"], links.items())

    # ── looking

    def matching(self, match: str) -> list[int]:
        """The ids of the files that fit an expression of FTS5."""
        return [row[0] for row in self._all("matching", match)]

    def with_word(self, word: str, most: int) -> tuple[list[str], int]:
        """The files that have a word, those that others use most first, and how many there are."""
        term = as_term(word.lower())
        count = int(self._all("count_with_word", term)[0][0])
        return [path for path, _ in self._all("with_word", term, most)], count

    def symbols_named(self, name: str) -> list[tuple[FoundSymbol, float]]:
        return self._symbols("symbols_named", name, MOST_ROWS)

    def symbols_beginning(self, name: str) -> list[tuple[FoundSymbol, float]]:
        return self._symbols("symbols_beginning", name, MOST_ROWS)

    def symbols_with_parts(self, name: str) -> list[tuple[FoundSymbol, float]]:
        """Symbols that have all of a name's parts in their names."""
        words = parts(name) or [name.lower()]
        match = " AND ".join(f"names : {as_term(word)}" for word in words)
        return self._symbols("symbols_with_parts", match, 300, f"%{'%'.join(words)}%", MOST_ROWS)

    def outline(self, path: str) -> list[FoundSymbol]:
        return [symbol for symbol, _ in self._symbols("outline", path)]

    def digest(self, path: str) -> bytes:
        """Of the content that is in; empty if the file is not."""
        rows = self._all("digest", path)
        return bytes(rows[0][0]) if rows else b""

    def links(self, file: int) -> bytes:
        rows = self._all("links", file)
        return bytes(rows[0][0]) if rows else b""

    def ranked(self, most: int) -> list[RankedFile]:
        return [RankedFile(*row) for row in self._all("ranked", most)]

    def file(self, path: str) -> RankedFile | None:
        rows = self._all("file", path)
        return RankedFile(*rows[0]) if rows else None

    def file_by_id(self, id: int) -> RankedFile | None:
        rows = self._all("files_by_id", id)
        return RankedFile(id, *rows[0]) if rows else None

    def counts_of_files(self) -> int:
        return int(self._all("count_files")[0][0])

    def counts(self) -> tuple[int, int, int, int, int, int, dict[str, int]]:
        """Files, lines, bytes, files without symbols, broken files, symbols, and files by language."""
        files, lines, size, without, broken = self._all("status")[0]
        symbols = int(self._all("count_symbols")[0][0])
        return files, lines, size, without, broken, symbols, dict(self._all("languages"))

    def damage(self) -> list[str]:
        with clear_errors(self.path):
            found = [str(row[0]) for row in self._connection.execute("PRAGMA quick_check")]
        return [line for line in found if line != "ok"]

    def _symbols(self, name: str, *values: Any) -> list[tuple[FoundSymbol, float]]:
        return [(FoundSymbol(*row[:8]), row[8]) for row in self._all(name, *values)]

    def _all(self, name: str, *values: Any) -> list[Any]:
        with clear_errors(self.path):
            return self._connection.execute(self._sql[name], values).fetchall()

    def _run(self, name: str, *values: Any) -> None:
        self._connection.execute(self._sql[name], values)


def size_on_disk(path: str) -> int:
    return sum(os.path.getsize(one) for one in (path, f"{path}-wal") if os.path.exists(one))


INDEX_DAMAGED = FindingKind(
    "INDEX_DAMAGED",
    Severity.WARNING,
    HealthScope.STATE,
    "The file of the index is damaged.",
    "delete it; Quintet builds it again from the project",
    fixable=True,
)
KINDS = (INDEX_DAMAGED,)


def index_is_whole(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor. Only a thorough look reads the file."""
    path = index_path(checkup.places)
    if not checkup.thorough or not os.path.exists(path):
        return
    try:
        store = IndexStore(path)
        try:
            damage = store.damage()
        finally:
            store.close()
    except StoreError as error:
        damage = [error.message]
    if damage:
        yield INDEX_DAMAGED.of("index.db", f"the index is damaged: {damage[0]}")


def remove_damaged(checkup: Checkup) -> list[str]:
    if not any(index_is_whole(checkup)):
        return []
    path = index_path(checkup.places)
    with writing(path) as mine:
        if not mine:
            return []
        for ending in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(path + ending)
    return ["removed the damaged index; `quintet index build` makes it again"]
