"""The store's reads and writes as plain synchronous methods over one connection.

The writer thread uses one for its transactions; queries use another to read, without any event loop. Only the named
statements know the database: another one brings its own, under the same names and with the same places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from quintet.adapters.sqlite.contents import BrokenContent, Contents
from quintet.adapters.sqlite.database import load_queries
from quintet.domain.base.errors import LeaseLost, NotFound, StoreDamaged, StoreError, StoreNewer, UsageError
from quintet.domain.journal.store_rows import Batch, Lease, SessionRow, Unreadable

if TYPE_CHECKING:
    from quintet.domain.journal.protocol import Event, Recorded, Submitted

_END = (1 << 63) - 1
PIECE = 1000  # event numbers read at once
UNKNOWN = ("Invalid value", "Invalid enum value")  # how a type or a word that is not known here is told


class Rows:
    def __init__(self, connection: Any, path: str, sql: dict[str, str] | None = None) -> None:
        self.connection = connection
        self.path = path
        self.sql = sql or load_queries()
        self._contents = Contents(connection, self.sql)

    def close(self) -> None:
        self.connection.close()

    def put_aside(self, data: str) -> tuple[str, str | None]:
        """An event's JSON as a row holds it: without its long texts, which are stored, and where they belong."""
        return self._contents.put_aside(data)

    def filled_in(self, data: str, places: str | None) -> str:
        """An event's JSON as it was."""
        return data if places is None else self._contents.filled_in(data, places)

    # ── reading

    def session(self, session: str) -> SessionRow | None:
        row = next(iter(self.connection.execute(self.sql["session_by_id"], (session,))), None)
        return _session_row(row) if row else None

    def sessions(self, most: int = 1000) -> list[SessionRow]:
        return [_session_row(row) for row in self.connection.execute(self.sql["sessions_newest_first"], (most,))]

    def find_session(self, prefix: str) -> SessionRow:
        """The session whose id is, or begins with, `prefix`."""
        if exact := self.session(prefix):
            return exact
        found = [row[0] for row in self.connection.execute(self.sql["sessions_by_prefix"], (prefix,))] if prefix else []
        if not found:
            raise NotFound(f"no session {prefix} in this project", hint="`quintet sessions list` shows them.")
        if len(found) > 1:
            raise UsageError(f"{prefix} is the start of more than one session id: {', '.join(found)}, …")
        row = self.session(found[0])
        assert row
        return row

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]:
        """A session's events in order, of some types or of all; a fork begins with those of its parent."""
        row = self.session(session)
        if row is None:
            return []
        last = _END if before is None else before
        events: list[Recorded] = []
        if row.parent and after < row.forked_after:
            events = self.read(row.parent, after, min(row.forked_after, last), kinds)
        if kinds:
            found = self.connection.execute(self.sql["read_events_of_types"], (session, after, last, _json(kinds)))
        else:
            found = self.connection.execute(self.sql["read_events"], (session, after, last))
        return events + self._recorded(found)

    def read_project(
        self, kinds: Sequence[str], after: int = 0, *, since: str = "", before: int | None = None
    ) -> list[Recorded]:
        """The events of these types in the whole project, each once however many forks share it."""
        values = (after, _END if before is None else before, since, _json(kinds))
        return self._recorded(self.connection.execute(self.sql["read_project_events_of_types"], values))

    def read_of_sessions(self, kinds: Sequence[str], after: int = 0) -> list[tuple[str, Recorded]]:
        """The events of these types in the whole project from then on, each with its session."""
        with self.connection:  # a row and its contents as of one moment
            rows = self.connection.execute(self.sql["read_events_of_sessions"], (after, _json(kinds))).fetchall()
            recorded = self._recorded(row[1:] for row in rows)
        return [(str(row[0]), one) for row, one in zip(rows, recorded, strict=True)]

    def pieces(self, session: str, after: int = 0, before: int | None = None) -> Iterator[Recorded]:
        """A session's events as `read` gives them, held a piece at a time."""
        last = self.last_seq(session) if before is None else before
        for start in range(after, last, PIECE):
            yield from self.read(session, start, min(start + PIECE, last))

    def read_everywhere(self, kinds: Sequence[str]) -> list[tuple[str, Event]]:
        """The events of these types in the whole project, each with its session."""
        with self.connection:
            rows = self.connection.execute(self.sql["read_events_of_types_everywhere"], (_json(kinds),)).fetchall()
            recorded = self._recorded(row[1:] for row in rows)
        return [(str(row[0]), one.event) for row, one in zip(rows, recorded, strict=True)]

    def rules_used(self) -> dict[str, tuple[str, int]]:
        """When each rule of the user's last decided in this project, and how often."""
        found = self.connection.execute(self.sql["rules_used"])
        return {str(rule): (str(at), int(count)) for rule, at, count in found}

    def event(self, seq: int) -> tuple[str, Recorded]:
        with self.connection:
            row = next(iter(self.connection.execute(self.sql["event_by_seq"], (seq,))), None)
            found = self._recorded([row[1:]] if row else [])
        if row is None:
            raise NotFound(f"no event {seq} in this project", hint="`quintet sessions show ID --events` lists them.")
        return str(row[0]), found[0]

    def newest_seq(self) -> int:
        """The number of the project's newest event; 0 if there is none."""
        return int(self._value("newest_seq") or 0)

    def at(self, seq: int) -> str:
        """When an event was written; empty if there is no such event."""
        return str(self._value("moment_of", seq) or "")

    def last_seq(self, session: str) -> int:
        return int(self._value("last_seq", session) or 0)

    def last_of_type(self, session: str, kind: str) -> int:
        """The number of the session's newest event of a type; 0 if there is none."""
        newest = self._value("last_event_of_type", session, kind)
        if newest is None and (row := self.session(session)) and row.parent:
            return min(self.last_of_type(row.parent, kind), row.forked_after)
        return int(newest or 0)

    def count(self, session: str) -> int:
        return int(self._value("count_events", session) or 0)

    def open_questions(self) -> list[tuple[str, str, str]]:
        """The questions that nobody has answered: each one's id, its text and its session, oldest first."""
        return [(str(id), str(text), str(session)) for id, text, session in self._all("open_questions")]

    def has_tasks(self) -> bool:
        return bool(self._value("any_task"))

    def project_cost(self) -> float:
        """What all sessions spent together; what forks share counts once."""
        return float(self._value("project_cost"))

    def moment_of_last(self, session: str, kind: str) -> str:
        """When the session's newest event of a type was written; empty if there is none."""
        newest = self.last_of_type(session, kind)
        return self.at(newest) if newest else ""

    def inbox(self, session: str) -> list[Submitted | Unreadable]:
        decode_submitted = _protocol().decode_submitted
        found: list[Submitted | Unreadable] = []
        for submission, data in self.connection.execute(self.sql["read_inbox"], (session,)).fetchall():
            try:
                found.append(decode_submitted(str(data)))
            except (msgspec.DecodeError, UnicodeError) as error:
                found.append(Unreadable(str(submission), str(error)))
        return found

    def data_version(self) -> int:
        return int(self.connection.pragma("data_version"))

    def holds(self, lease: Lease) -> bool:
        return bool(self._value("holds_lease", lease.session, lease.owner, lease.number))

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(self.sql[query]).fetchall())

    def _value(self, query: str, *values: str | int) -> Any:
        return self.connection.execute(self.sql[query], values).fetchall()[0][0]

    def _recorded(self, rows: Iterable[tuple[Any, ...]]) -> list[Recorded]:
        protocol = _protocol()
        events, seq = [], 0
        try:
            for seq, at, version, data, contents in rows:
                if version > protocol.VERSION:
                    raise self._newer(seq, f"event version {version}; this Quintet supports {protocol.VERSION}")
                if contents is not None:
                    data = self._contents.filled_in(data, contents)
                events.append(protocol.Recorded(seq, at, protocol.decode_event(data, version)))
        except (msgspec.DecodeError, UnicodeError, KeyError, BrokenContent) as error:
            if isinstance(error, msgspec.ValidationError) and str(error).startswith(UNKNOWN):
                raise self._newer(seq, str(error)) from error
            raise StoreDamaged(f"{self.path}: event {seq} cannot be read ({error})") from error
        return events

    def _newer(self, seq: int, why: str) -> StoreNewer:
        text = f"{self.path}: event {seq} was written by a newer Quintet ({why}); it was not changed"
        return StoreNewer(text, hint="Update Quintet to open this session; others may still open.")

    def read_through(self) -> None:
        """Read every event of the journal, and raise what is wrong with the first that cannot be read."""
        last = 0
        while read := self._recorded(self.connection.execute(self.sql["read_journal"], (last, PIECE))):
            last = read[-1].seq

    # ── writing, inside a transaction of the caller's

    def insert_session(self, row: SessionRow) -> None:
        values = (row.id, row.created, row.updated, row.parent, row.forked_after, row.title, row.summary.decode())
        self.connection.execute(self.sql["insert_session"], values)

    def append(self, session: str, batch: Batch) -> list[int]:
        execute = self.connection.execute
        fence = (batch.lease.owner, batch.lease.number) if batch.lease else ("", 0)
        execute(self.sql["touch_session"], (batch.at, batch.summary.decode(), batch.title, session, *fence))
        if self.connection.changes() != 1:
            raise LeaseLost()
        if batch.consumed:
            execute(self.sql["consume"], (batch.consumed,))
            if self.connection.changes() != 1:
                raise StoreError(f"submission {batch.consumed} was consumed before")
        events = [(kind, *self._contents.put_aside(data.decode())) for kind, data in batch.events]
        seqs = self._add_events(session, batch.at, _protocol().VERSION, events)
        for question, body in batch.opens:
            execute(self.sql["open_question"], (question, session, batch.at, body))
        for question, answer in batch.closes:
            execute(self.sql["close_question"], (answer, batch.at, question))
        return seqs

    def _add_events(
        self, session: str, at: str, version: int, events: Sequence[tuple[str, str, str | None]]
    ) -> list[int]:
        """Events by their type, their JSON as a row holds it, and where contents belong in that; their numbers."""
        seqs = []
        for kind, data, contents in events:
            self.connection.execute(self.sql["append_event"], (session, at, kind, version, data, contents))
            seqs.append(int(self.connection.last_insert_rowid()))
        return seqs

    def submit(self, session: str, submitted: Submitted, at: str) -> int:
        """Accept a submission, unless it is here already; returns the session's last event before it."""
        from hashlib import sha256  # who only looks never submits

        encode, execute = _protocol().encode, self.connection.execute
        digest = sha256(encode(submitted.body)).hexdigest()
        execute(self.sql["accept"], (submitted.id, session, digest))
        if self.connection.changes() == 1:
            execute(self.sql["submit"], (submitted.id, session, at, encode(submitted).decode()))
        where, after, said = execute(self.sql["accepted"], (submitted.id,)).fetchall()[0]
        if (where, said) != (session, digest):
            raise UsageError(f"the id {submitted.id} belongs to another input, in session {where}")
        return int(str(after))

    def take_lease(self, lease: Lease, former: SessionRow) -> bool:
        values = (lease.owner, lease.pid, lease.started, lease.until, lease.number, lease.session)
        seen = (former.owner, former.lease_number, former.lease_until)
        self.connection.execute(self.sql["take_lease"], (*values, *seen))
        return bool(self.connection.changes() == 1)

    def renew_lease(self, lease: Lease) -> bool:
        values = (lease.until, lease.session, lease.owner, lease.number)
        self.connection.execute(self.sql["renew_lease"], values)
        return bool(self.connection.changes() == 1)

    def release(self, lease: Lease) -> None:
        self.connection.execute(self.sql["release_lease"], (lease.session, lease.owner, lease.number))

    def purge(self, session: str) -> None:
        if next(iter(self.connection.execute(self.sql["forks_of"], (session,))), None):
            raise UsageError(f"session {session} has forks that start with its events; purge those first")
        for (helper,) in list(self.connection.execute(self.sql["helpers_of"], (session,))):
            self.purge(helper)
        contents = [number for (number,) in self.connection.execute(self.sql["contents_of_session"], (session,))]
        for name in ("purge_journal", "purge_inbox", "purge_submissions", "purge_questions", "purge_session"):
            self.connection.execute(self.sql[name], (session,))
        if contents:
            self.connection.execute(self.sql["purge_contents"], (_json(contents),))


def _protocol() -> ModuleType:
    """The events' own module, imported where events are read or written: listings never touch it."""
    from quintet.domain.journal import protocol

    return protocol


def _json(values: Sequence[Any]) -> str:
    return msgspec.json.encode(values).decode()


def _session_row(row: tuple[object, ...]) -> SessionRow:
    values = list(row)
    values[6] = str(values[6]).encode()
    return SessionRow(*values)  # type: ignore[arg-type]
