"""The memories of one project in SQLite, beside its state: each write is one transaction, whole after any crash.

The file is made when the first memory is written; one that a newer Quintet wrote is refused, untouched.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import apsw
import msgspec

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.sqlite.database import BUSY_MS, clear_errors, load_queries
from quintet.domain.base.errors import NotFound, StoreDamaged, StoreNewer
from quintet.domain.base.safe_text import on_one_line
from quintet.features.memory.values import MemoryCheck, MemoryEntry, NewMemory, TakenBackCheck, Tier

VERSION = 1
INDEX = "lexicon"  # what is said of damage to the index names it
_SQL = os.path.join(os.path.dirname(__file__), "memory.sql")
_CHECK = msgspec.json.Decoder(MemoryCheck | None)


def database(state: str) -> str:
    """In a project's state folder."""
    return os.path.join(state, "memory.db")


class MemoryStore:
    """Belongs to one thread at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._sql = load_queries(_SQL)
        with clear_errors(path):
            private_folder(os.path.dirname(path))
            self._db = apsw.Connection(path)
            try:
                self._db.set_busy_timeout(BUSY_MS)
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        version = int(self._db.pragma("user_version"))
        if version > VERSION:
            raise StoreNewer(f"{self.path}: version {version}, this Quintet supports {VERSION}; it was not changed")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if version == 0:
            with suppress(OSError):
                os.chmod(self.path, 0o600)
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if not self._db.pragma("user_version"):  # another process may have been quicker
                    self._db.execute(self._sql["create"])
                    self._db.pragma("user_version", VERSION)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        self._db.close()

    # ── reading

    def entries(self, tier: Tier | None = None) -> list[MemoryEntry]:
        return [_entry(row) for row in self._all("all", tier or "")]

    def entry(self, id: str) -> MemoryEntry:
        rows = self._all("one", _number(id))
        if not rows:
            raise NotFound(f"there is no memory {on_one_line(id)[:40]}", hint="`quintet memory list` shows them.")
        return _entry(rows[0])

    def search(self, query: str, limit: int, tier: Tier | None = None) -> list[MemoryEntry]:
        """What matches a query of full-text search, the best first."""
        if not query:
            return []
        wanted = f"text : ({query})" + (f' AND tier : "{tier}"' if tier else "")
        return [_entry(row) for row in self._all("search", wanted, limit)]

    @property
    def is_off(self) -> bool:
        return bool(self._all("is_off"))

    # ── writing

    def learn(self, found: Iterable[NewMemory], source: str, at: str, keep_outcomes: int) -> list[MemoryEntry]:
        """Write what a run proposes, in one transaction; what is new of it. What was forgotten does not come back."""
        ids = []
        with clear_errors(self.path), self._db:
            for new in found:
                if self._db.execute(self._sql["is_forgotten"], (new.tier, new.text)).fetchall():
                    continue
                id, fresh = self._put(new, source, at)
                ids += [id] if fresh else []
            self._db.execute(self._sql["drop_old"], (Tier.OUTCOME, keep_outcomes))
        return [_entry(row) for id in ids for row in self._all("one", id)]

    def add(self, new: Iterable[NewMemory], source: str, at: str) -> list[MemoryEntry]:
        """Write what the user says, also what they once forgot."""
        ids = []
        with clear_errors(self.path), self._db:
            for one in new:
                self._db.execute(self._sql["remember_again"], (one.tier, one.text))
                ids.append(self._put(one, source, at)[0])
        return [_entry(row) for id in ids for row in self._all("one", id)]

    def _put(self, new: NewMemory, source: str, at: str) -> tuple[int, bool]:
        """The memory's number, and whether it is new: the same text is renewed."""
        check = msgspec.json.encode(new.check).decode()
        same = self._db.execute(self._sql["same"], (new.tier, new.text)).fetchall()
        if same:
            id = int(str(same[0][0]))
            self._db.execute(self._sql["renew"], (source, at, new.evidence, check, id))
            return id, False
        columns = (new.tier, new.text, source, at, new.evidence, check)
        return int(str(self._db.execute(self._sql["add"], columns).fetchall()[0][0])), True

    def change(self, id: str, text: str, check: MemoryCheck | None, source: str, at: str) -> MemoryEntry:
        with clear_errors(self.path), self._db:
            before = self.entry(id)
            same = self._db.execute(self._sql["same"], (before.tier, text)).fetchall()
            if same and int(str(same[0][0])) != _number(id):  # two of the same are one
                self._db.execute(self._sql["drop"], (int(str(same[0][0])),))
            held_by = msgspec.json.encode(check).decode()
            self._db.execute(self._sql["change"], (text, source, at, held_by, _number(id)))
        return self.entry(id)

    def forget(self, id: str) -> MemoryEntry:
        """Delete a memory; a run does not bring it back."""
        with clear_errors(self.path), self._db:
            before = self.entry(id)
            self._db.execute(self._sql["forget"], (before.tier, before.text))
            self._db.execute(self._sql["drop"], (_number(id),))
        return before

    def rewound(self, taken: Iterable[str], given: Iterable[str]) -> list[MemoryEntry]:
        """Outcomes whose files were taken back no longer hold, and do again where those are given back.

        Returns what there is of those that were taken, as they are now.
        """
        taken = list(taken)
        with clear_errors(self.path), self._db:
            for id, back in [*((id, True) for id in taken), *((id, False) for id in given)]:
                for one in map(_entry, self._all("one", _number(id))):
                    if back and one.tier is Tier.OUTCOME and not isinstance(one.check, TakenBackCheck):
                        self._hold_by(id, TakenBackCheck(one.check))
                    elif not back and isinstance(one.check, TakenBackCheck):
                        self._hold_by(id, one.check.before)
        return [_entry(row) for id in taken for row in self._all("one", _number(id))]

    def _hold_by(self, id: str, check: MemoryCheck | None) -> None:
        self._db.execute(self._sql["hold_by"], (msgspec.json.encode(check).decode(), _number(id)))

    def mark(self, stale: Iterable[tuple[str, str]]) -> None:
        """Memories by id, with why they no longer hold; an empty reason takes the mark away."""
        with clear_errors(self.path), self._db:
            for id, why in stale:
                self._db.execute(self._sql["mark"], (why, _number(id)))

    def turn(self, *, off: bool) -> None:
        with clear_errors(self.path), self._db:
            self._db.execute(self._sql["clear_switch"])
            self._db.execute(self._sql["turn"], (int(off),))

    # ── its health

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file; all of it is read."""
        with clear_errors(self.path):
            said = [str(row[0]) for row in self._db.execute("PRAGMA integrity_check")]
        return [] if said == ["ok"] else said

    def index_again(self) -> None:
        with clear_errors(self.path), self._db:
            self._db.execute(self._sql["empty_lexicon"])

    def _all(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        with clear_errors(self.path):
            return self._db.execute(self._sql[name], values).fetchall()


def _number(id: str) -> int:
    """Of an id; 0, which no memory has, for what is none."""
    digits = id.lower().removeprefix("m")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else 0


def _entry(row: tuple[Any, ...]) -> MemoryEntry:
    id, tier, text, source, at, evidence, check, stale = row
    try:
        return MemoryEntry(f"m{id}", Tier(tier), text, source, at, evidence, _CHECK.decode(check), stale)
    except (ValueError, msgspec.DecodeError) as error:
        raise StoreDamaged(f"memory m{id} cannot be read ({error})") from error
