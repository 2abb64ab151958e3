"""What is kept of skills in a project: how often each was used, and the drafts with what became of them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from quintet.adapters.sqlite import own_files
from quintet.domain.base.errors import NotFound, StoreUnwritable

MOST_USES = 500  # rows of what was used
_SCHEMA = os.path.join(os.path.dirname(__file__), "skills.sql")


class DraftStatus(StrEnum):
    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class DraftRow(Struct, frozen=True):
    id: str
    evidence: str  # what it is about, as one key
    name: str
    status: DraftStatus
    made_at: float
    decided_at: float | None
    content: bytes


class SkillBook:
    """Made when something is first written: a project without uses and drafts has no file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None

    def close(self) -> None:
        if self._opened:
            self._opened.close()
            self._opened = None

    # ── uses

    def uses(self) -> dict[str, int]:
        """How often each was used; nothing where that cannot be told."""
        with contextlib.suppress(sqlite3.Error, StoreUnwritable):
            if self._is_there():
                return dict(self._db().execute("SELECT name, count FROM used"))
        return {}

    def count_use(self, name: str) -> None:
        """What cannot be counted is used all the same."""
        with contextlib.suppress(sqlite3.Error, StoreUnwritable):
            self._db().execute(
                "INSERT INTO used VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET count = count + 1", (name,)
            )
            self._db().execute(
                "DELETE FROM used WHERE name IN (SELECT name FROM used ORDER BY count DESC LIMIT -1 OFFSET ?)",
                (MOST_USES,),
            )

    # ── drafts

    def drafts(self) -> list[DraftRow]:
        if not self._is_there():
            return []
        rows = self._db().execute("SELECT * FROM drafts ORDER BY made_at, id")
        return [_row(row) for row in rows]

    def draft(self, id: str) -> DraftRow:
        found = [row for row in self.drafts() if row.id == id or row.name == id]
        if not found:
            raise NotFound(f"there is no draft {id[:40]}", hint="`quintet skills drafts` lists them.")
        return found[-1]

    def propose(self, row: DraftRow) -> bool:
        """False if this evidence has a draft already that was not rejected meanwhile."""
        with self._writing() as db:
            db.execute("DELETE FROM drafts WHERE evidence = ? AND status = ?", (row.evidence, DraftStatus.REJECTED))
            made = db.execute("INSERT OR IGNORE INTO drafts VALUES (?, ?, ?, ?, ?, ?, ?)", msgspec.structs.astuple(row))
            return made.rowcount == 1

    def decide(self, id: str, status: DraftStatus, at: float) -> bool:
        """Once: False if it was decided before."""
        with self._writing() as db:
            done = db.execute(
                "UPDATE drafts SET status = ?, decided_at = ? WHERE id = ? AND status = ?",
                (status, at, id, DraftStatus.PROPOSED),
            )
            return done.rowcount == 1

    # ── the file

    def _is_there(self) -> bool:
        return self._opened is not None or os.path.exists(self._path)

    def _db(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = own_files.opened(self._path, _SCHEMA)
        return self._opened

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        db = self._db()
        with own_files.writing(db, self._path):
            yield db


def _row(row: tuple[Any, ...]) -> DraftRow:
    id, evidence, name, status, made_at, decided_at, content = row
    return DraftRow(id, evidence, name, DraftStatus(status), made_at, decided_at, content)
