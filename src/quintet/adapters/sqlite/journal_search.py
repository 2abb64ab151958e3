"""Full-text search over the journal, in a disposable file beside it.

The journal is never slowed by it: what is new is indexed when somebody searches. The file holds words and event
numbers, no texts; one that is damaged, of another version or of another journal is made anew.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from itertools import islice
from typing import Any

import apsw

from quintet.adapters.sqlite.database import BUSY_MS, load_queries, unmarked
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.base.errors import NotFound, StoreUnwritable
from quintet.domain.base.safe_text import visible
from quintet.domain.journal.search_text import KINDS, query, text_of
from quintet.domain.ports.stores import Hit, Hits, Progress

VERSION = 1  # of what is indexed and how
PIECE = 2000  # event numbers indexed in one transaction
MOST_LINES = 2000  # of one text, looked through for the line to show
LINE_LENGTH = 240  # characters of it
LEAD = 60  # of those, before the first match
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError)


def _silent(done: int, of: int) -> None:
    """Reports progress to no one."""


def search(path: str, rows: Rows, words: Sequence[str], limit: int, progress: Progress = _silent) -> Hits:
    """Index what is new, then search; an index that turns out to be damaged is made anew, once."""
    for last in (False, True):
        try:
            index = HistoryIndex(path, rows)
            try:
                index.update(progress)
                return index.search(words, limit)
            finally:
                index.close()
        except _DAMAGE:
            if last:  # then it is the journal
                raise
            forget(path)
    raise AssertionError


class HistoryIndex:
    def __init__(self, path: str, rows: Rows) -> None:
        self._path = path
        self._rows = rows
        self._sql = load_queries("history.sql")
        self._connection = self._open()

    def _open(self) -> apsw.Connection:
        try:
            return self._ready(self._path)
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError):  # then for this once
            return self._ready(":memory:")

    def _ready(self, path: str) -> apsw.Connection:
        connection = apsw.Connection(path)
        connection.set_busy_timeout(BUSY_MS)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            if connection.pragma("user_version") != VERSION or self._of_another_journal(connection):
                for name in ("words", "indexed"):
                    connection.execute(f"DROP TABLE IF EXISTS {name}")
                connection.execute(self._sql["create"])
                connection.pragma("user_version", VERSION)
        if path != ":memory:":
            os.chmod(path, 0o600)
        return connection

    def _of_another_journal(self, connection: apsw.Connection) -> bool:
        seq, at = _all(connection, self._sql["indexed"])[0]
        return bool(seq) and self._rows.at(seq) != at

    def update(self, progress: Progress = _silent) -> None:
        """Index what the journal has beyond what is indexed; `progress` gets the share that is done."""
        newest = self._rows.newest_seq()
        try:
            while (done := self._piece(newest)) < newest:
                progress(done, newest)
        except (apsw.FullError, apsw.IOError) as error:
            hint = "Free some space; the file can be deleted at any time."
            raise StoreUnwritable(f"{self._path}: cannot be written ({error})", hint=hint) from error

    def _piece(self, newest: int) -> int:
        """Index the next events; each piece looks anew, for another process may be indexing too."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            done = int(_all(self._connection, self._sql["indexed"])[0][0])
            upto = min(done + PIECE, newest)
            if upto > done:
                for recorded in self._rows.read_project(KINDS, done, before=upto):
                    _, text = text_of(recorded.event)
                    if text:
                        execute(self._sql["add"], (recorded.seq, text))
                execute(self._sql["set_indexed"], (upto, self._rows.at(upto)))
            execute("COMMIT")
        except BaseException:
            execute("ROLLBACK")
            raise
        return max(done, upto)

    def search(self, words: Sequence[str], limit: int) -> Hits:
        """The newest events that have all the words, each with the line that fits best."""
        every, any_of = query(words)
        found = int(_all(self._connection, self._sql["count"], every)[0][0])
        texts: dict[int, tuple[str, str, str, str]] = {}
        for (seq,) in _all(self._connection, self._sql["newest"], every, limit):
            with contextlib.suppress(NotFound):  # purged a moment ago
                session, recorded = self._rows.event(seq)
                texts[seq] = (session, recorded.at, *text_of(recorded.event))
        lines = self._best_lines({seq: text for seq, (_, _, _, text) in texts.items()}, any_of)
        titles = {session: self._title(session) for session, _, _, _ in texts.values()}
        hits = [
            Hit(session, at, titles[session], seq, what, *shown_line(lines[seq]))
            for seq, (session, at, what, _) in texts.items()
        ]
        return Hits(found, hits)

    def _title(self, session: str) -> str:
        row = self._rows.session(session)
        return row.title if row else ""

    def _best_lines(self, texts: dict[int, str], any_of: str) -> dict[int, str]:
        """Of each text the line that fits best, the matches marked; its first one if a phrase runs over lines."""
        execute = self._connection.execute
        execute(self._sql["create_lines"])
        best: dict[int, str] = {}
        for seq, text in texts.items():
            rows = [visible(line.expandtabs(1)).strip() for line in islice(text.splitlines(), MOST_LINES)]
            for line in filter(None, rows):
                execute(self._sql["add_line"], (line, seq))
        for seq, line in _all(self._connection, self._sql["marked_lines"], any_of):
            best.setdefault(seq, line)
        execute("DROP TABLE temp.lines")
        return {seq: best.get(seq) or visible(text.strip().partition("\n")[0]) for seq, text in texts.items()}

    def close(self) -> None:
        self._connection.close()


def _all(connection: apsw.Connection, sql: str, *values: str | int) -> list[tuple[Any, ...]]:
    return connection.execute(sql, values).fetchall()


def shown_line(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A marked line as plain text of a bounded length, and where its matches are."""
    line, matches = unmarked(marked)
    first = matches[0][0] if matches else 0
    start = 0 if len(line) <= LINE_LENGTH else max(0, min(first - LEAD, len(line) - LINE_LENGTH))
    end = start + LINE_LENGTH
    lead, tail = "…" if start else "", "…" if end < len(line) else ""
    shift = len(lead) - start
    kept = tuple((a + shift, min(b, end) + shift) for a, b in matches if a < end)
    return f"{lead}{line[start:end]}{tail}", kept


def forget(path: str) -> None:
    """Delete the index, whole."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)
