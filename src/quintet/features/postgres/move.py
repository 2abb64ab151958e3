"""A project from one database into another: the whole of it, compared at the end by counts and digests.

The source is locked meanwhile and stays as it is. The journal is copied in pieces, the rest in one last transaction
with the sessions, so that a move that was interrupted shows nothing and goes on where it stopped. What the target has
already must be the beginning of what the source has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.sqlite.database import clear_errors, connect
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.base.errors import StoreError, UsageError
from quintet.domain.ports.stores import Progress
from quintet.features.postgres.link import ServerLink, statements
from quintet.features.postgres.rows import PostgresRows
from quintet.features.postgres.schema import checked, project_number

FILE = "file"
PIECE = 1000  # events of one transaction
Event = tuple[int, str, str, str, int, str]  # seq, session, at, type, version, JSON
# Every table but the journal and its contents, in an order in which one may refer to another; the columns that are
# copied, and the one that orders them. Who works at what is not copied: nobody does, while a project is moved.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "sessions": (
        "id",
        ("id", "created", "updated", "parent", "forked_after", "title", "summary", "lease_number"),
    ),
    "inbox": ("place", ("id", "session", "at", "data")),
    "submissions": ("id", ("id", "session", "after", "digest")),
    "questions": ("id", ("id", "session", "asked", "body", "answer", "answered")),
    "tasks": (
        "id",
        (
            *("id", "work_mode", "run_control", "permission_profile", "model_mode", "surface", "status"),
            *("dependency_blockers", "retry_count", "max_retries", "checkpoint_ref", "cost_budget", "cost_spent"),
            *("created_at", "started_at", "completed_at", "next_action_at", "intent_claim", "milestone", "text"),
            *("path", "stamp", "fence"),
        ),
    ),
    "task_scheduler": (
        "task_id",
        ("task_id", "status", "due_at", "claimed_by", "dispatched_at", "consumed_at", "expires_at"),
    ),
    "task_branches": ("task_id", ("task_id", "branch", "worktree", "target", "base", "state", "said")),
    "task_transitions": ("id", ("task_id", "from_status", "to_status", "reason", "scope", "timestamp")),
}


class FileSide:
    """The project's own file."""

    def __init__(self, path: str, *, make: bool) -> None:
        if not make and not os.path.exists(path):
            raise UsageError(f"{path}: nothing is stored there")
        private_folder(os.path.dirname(path))
        self.shown = path
        self.rows = Rows(connect(path), path)
        self.connection: Any = self.rows.connection

    def begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def add_event(self, event: Event) -> None:
        seq, session, at, kind, version, data = event
        short, places = self.rows.put_aside(data)
        sql = "INSERT INTO journal (seq, session, at, type, version, data, contents) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self.connection.execute(sql, (seq, session, at, kind, version, short, places))

    def raw(self, after: int, most: int) -> list[tuple[Any, ...]]:
        sql = "SELECT seq, session, at, type, version, data, contents FROM journal WHERE seq > ? ORDER BY seq LIMIT ?"
        return list(self.connection.execute(sql, (after, most)))

    def table(self, name: str, order: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(f"SELECT {', '.join(columns)} FROM {name} ORDER BY {order}"))

    def clear_table(self, name: str) -> None:
        self.connection.execute(f"DELETE FROM {name}")

    def insert(self, name: str, columns: Sequence[str], row: Sequence[Any]) -> None:
        places = ", ".join("?" * len(columns))
        self.connection.execute(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({places})", tuple(row))

    def claimed(self) -> list[str]:
        owned = (
            "SELECT 'session ' || id FROM sessions WHERE owner <> '' UNION SELECT 'task ' || task_id FROM task_runtime"
        )
        return [str(name) for (name,) in self.connection.execute(owned)]

    def end(self) -> None:
        self.connection.execute("COMMIT")

    def undo(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.rows.close()


class ServerSide:
    """A project in a PostgreSQL database."""

    def __init__(self, url: str, project: str, *, make: bool) -> None:
        self.link = checked(ServerLink(url, reads_only=False))
        self.link.project = project_number(self.link, project, make=make)
        self.shown = f"{self.link.shown} ({project})"
        if not self.link.project:
            raise UsageError(f"{self.shown}: nothing is stored of this project")
        self.rows = PostgresRows(self.link)
        self._sql = statements("database.sql")
        self._move = statements("move.sql")
        self.link.execute(self._move["unhurried"])

    def begin(self) -> None:
        self.link.execute("BEGIN")
        self.link.execute(self._sql["lock_project"])

    def add_event(self, event: Event) -> None:
        *rest, data = event
        self.link.execute(self._move["add_event"], (*rest, *self.rows.put_aside(data)))

    def raw(self, after: int, most: int) -> list[tuple[Any, ...]]:
        return self.link.execute(self._move["events"], (after, most)).fetchall()

    def table(self, name: str, order: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        sql = f"SELECT {', '.join(columns)} FROM {name} WHERE project = %(project)s ORDER BY {order}"
        return self.link.execute(sql).fetchall()

    def clear_table(self, name: str) -> None:
        self.link.execute(f"DELETE FROM {name} WHERE project = %(project)s")

    def insert(self, name: str, columns: Sequence[str], row: Sequence[Any]) -> None:
        places = ", ".join(f"%({number})s" for number in range(1, len(columns) + 1))
        self.link.execute(
            f"INSERT INTO {name} (project, {', '.join(columns)}) VALUES (%(project)s, {places})", tuple(row)
        )

    def claimed(self) -> list[str]:
        return [str(name) for (name,) in self.link.execute(self._move["claimed"])]

    def end(self) -> None:
        self.link.execute(self._sql["told"])
        self.link.execute("COMMIT")

    def undo(self) -> None:
        if not self.link.lost:
            self.link.execute("ROLLBACK")

    def close(self) -> None:
        self.link.close()


Side = FileSide | ServerSide


def move_project(source: str, target: str, path: str, project: str, progress: Progress) -> dict[str, Any]:
    """Copy the project at `path`, or of that name, from one database into another; what was copied, by tables."""

    def side(where: str, *, make: bool) -> Side:
        return FileSide(path, make=make) if where == FILE else ServerSide(where, project, make=make)

    with clear_errors(path):
        one = side(source, make=False)
        try:
            other = side(target, make=True)
            try:
                return _moved(one, other, progress)
            finally:
                other.close()
        finally:
            one.close()


def _moved(source: Side, target: Side, progress: Progress) -> dict[str, Any]:
    source.begin()
    try:
        for side in (source, target):
            if held := side.claimed():
                raise StoreError(
                    f"{side.shown}: {held[0]} is in use",
                    hint="Close it, then try again; `quintet doctor fix` releases it if its process has ended.",
                )
        _copy_journal(source, target, progress)
        target.begin()
        try:
            counts = _copy_tables(source, target)
            target.end()
        except BaseException:
            target.undo()
            raise
    finally:
        source.undo()
    return {"from": source.shown, "to": target.shown, **counts}


def _copy_journal(source: Side, target: Side, progress: Progress) -> None:
    """What the target has of the journal must be as the source has it; the rest is added."""
    last, newest = 0, source.rows.newest_seq()
    there = iter(_events(target))
    for piece in _pieces(_events(source)):
        new: list[Event] = []
        for event in piece:
            if (had := next(there, None)) is None:
                new.append(event)
            elif had != event:
                raise _other(target)
        if new:
            target.begin()
            try:
                for event in new:
                    target.add_event(event)
                target.end()
            except BaseException:
                target.undo()
                raise
        last = piece[-1][0]
        progress(last, newest)
    if next(there, None) is not None and last:
        raise _other(target)


def _other(target: Side) -> UsageError:
    return UsageError(
        f"{target.shown}: it holds other sessions, or has been used since it was filled",
        hint="Give the project another name there (--project NAME), or move it back first.",
    )


def _events(side: Side) -> Iterator[Event]:
    """The journal with its contents filled in, read in pieces; what is added meanwhile is not read again."""
    last, upto = 0, side.rows.newest_seq()
    while last < upto and (rows := side.raw(last, PIECE)):
        for seq, session, at, kind, version, data, places in rows:
            yield seq, session, at, kind, version, side.rows.filled_in(data, places)
        last = rows[-1][0]


def _pieces(events: Iterator[Event]) -> Iterator[list[Event]]:
    piece: list[Event] = []
    for event in events:
        piece.append(event)
        if len(piece) == PIECE:
            yield piece
            piece = []
    if piece:
        yield piece


def _copy_tables(source: Side, target: Side) -> dict[str, Any]:
    """Everything but the journal, and the comparison of all."""
    rows = {name: source.table(name, order, columns) for name, (order, columns) in TABLES.items()}
    for name, (order, columns) in TABLES.items():
        ours = {row[0] for row in rows[name]}
        if any(row[0] not in ours for row in target.table(name, order, columns)):
            raise _other(target)
    for name in reversed(TABLES):
        target.clear_table(name)
    for name, (_, columns) in TABLES.items():
        for row in rows[name]:
            target.insert(name, columns, row)
    counts: dict[str, int] = {}
    digests: dict[str, str] = {}
    for name, found, copied in (
        ("journal", _events(source), _events(target)),
        *(
            (name, iter(rows[name]), iter(target.table(name, order, columns)))
            for name, (order, columns) in TABLES.items()
        ),
    ):
        (counts[name], digests[name]), after = _digest(found), _digest(copied)
        if after != (counts[name], digests[name]):
            raise StoreError(
                f"{target.shown}: {name} differs after the copy ({counts[name]} rows, {after[0]} there); "
                "nothing was changed there",
                hint="Try again; if it fails again, keep the source and report the problem.",
            )
    return {"counts": counts, "digests": digests}


def _digest(rows: Iterator[Any]) -> tuple[int, str]:
    count, digest = 0, sha256()
    for row in rows:
        count += 1
        plain = [value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row]
        digest.update(msgspec.json.encode([float(v) if isinstance(v, int) else v for v in plain]) + b"\n")
    return count, digest.hexdigest()
