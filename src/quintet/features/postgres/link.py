"""One connection to PostgreSQL that carries out named statements as the rows of a store call them.

Errors of the server and of the network come out as ours, without the secrets of the URL. A connection that only reads
is made anew when it was lost, and the statement run again; one that writes says so, and its user decides.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from quintet import __version__
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.sqlite.database import load_queries
from quintet.domain.base.database_url import HIDDEN, secrets_in, shown_url
from quintet.domain.base.errors import (
    StoreDamaged,
    StoreError,
    StoreOlder,
    StoreUnreachable,
    StoreUnwritable,
    UsageError,
)
from quintet.domain.ports.ports import Clock

SQL_FOLDER = os.path.join(os.path.dirname(__file__), "sql")
CONNECT_SECONDS = 10
ANSWER_SECONDS = 35.0  # that an answer is waited for: a server that runs has stopped the statement by then
READ_AGAIN_SECONDS = 10.0  # that a lost connection is tried to be made anew for a read
PAUSE_SECONDS = 0.2
_PLACE = re.compile(r"\?(\d+)|(?<!:):(project|uptime|machine)\b")
_SOON = ("starting up", "shutting down", "in recovery mode", "not yet accepting connections")
_LOST = (pg.AdminShutdown, pg.CrashShutdown, pg.CannotConnectNow, pg.IdleInTransactionSessionTimeout)
Row = tuple[Any, ...]
T = TypeVar("T")


@cache
def statements(name: str) -> dict[str, str]:
    """The statements of a file by their names, with places as the driver writes them."""
    found = load_queries(os.path.join(SQL_FOLDER, name))
    return {title: _PLACE.sub(lambda place: f"%({place[1] or place[2]})s", body) for title, body in found.items()}


class LimitedConnection(psycopg.Connection[Row]):
    """Gives up on a server that says nothing. Its own limits do not help if it hangs, or the network is gone."""

    def wait(self, gen: PQGen[T], *words: Any, **named: Any) -> T:
        return super().wait(self._limited(gen), *words, **named)

    def _limited(self, gen: PQGen[T]) -> PQGen[T]:
        until = time.monotonic() + ANSWER_SECONDS
        try:
            state = next(gen)
            while True:
                ready = yield state  # comes back a few times a second, also where nothing was received
                if time.monotonic() > until:
                    self.close()
                    raise psycopg.OperationalError(f"no answer in {ANSWER_SECONDS:g} s")
                state = gen.send(ready)
        except StopIteration as ended:
            answer: T = ended.value
            return answer


class ServerLink:
    """Looks to rows like a connection of theirs: `execute`, `changes`, `last_insert_rowid`, `with` for one snapshot."""

    def __init__(self, url: str, *, project: int = 0, clock: Clock | None = None, reads_only: bool = True) -> None:
        self.url = url
        self.shown = shown_url(url)
        self.project = project
        self._clock = clock or SystemClock()
        self._reads_only = reads_only
        self._machine = os.uname().nodename
        self._connection = connected(url)
        self._cursor: psycopg.Cursor[Row] | None = None
        self._inside = False
        self._away = False  # it was waited for in vain: what comes next tries once

    @property
    def lost(self) -> bool:
        return self._connection.closed

    def reconnect(self) -> None:
        self._connection.close()
        self._inside = False
        self._connection = connected(self.url)

    def close(self) -> None:
        self._connection.close()

    def __del__(self) -> None:
        """A command that looks ends without closing what it looked into."""
        if connection := getattr(self, "_connection", None):
            connection.close()

    @property
    def connection(self) -> psycopg.Connection[Row]:
        """For others who write in the transaction that is open."""
        return self._connection

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turns what goes wrong for them into our errors."""
        try:
            yield
        except Exception as error:
            said = next((one for one in (error, error.__cause__) if isinstance(one, psycopg.Error)), None)
            if said is None:
                raise
            if isinstance(said, _LOST) or self._connection.broken:
                self._connection.close()
            raise clear(said, self.url, lost=self._connection.closed) from error

    @property
    def socket(self) -> int:
        return self._connection.fileno()

    def notified(self) -> set[str]:
        """What was told since the last time, without waiting."""
        try:
            return {notice.payload for notice in self._connection.notifies(timeout=0)}
        except psycopg.Error as error:
            self._connection.close()
            raise clear(error, self.url, lost=True) from error

    def execute(self, sql: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Row]:
        until = time.monotonic() + (0.0 if self._away else READ_AGAIN_SECONDS)
        while True:
            try:
                self._cursor = self._run(sql, values)
                self._away = False
                return self._cursor
            except StoreUnreachable:
                if not self._reads_only or self._inside or time.monotonic() > until + CONNECT_SECONDS:
                    raise
                self._again(until)

    def _again(self, until: float) -> None:
        """Connect anew, as long as there is time."""
        while True:
            try:
                return self.reconnect()
            except StoreUnreachable:
                if time.monotonic() > until:
                    self._away = True
                    raise
                time.sleep(PAUSE_SECONDS)

    def _run(self, sql: str, values: Sequence[Any]) -> psycopg.Cursor[Row]:
        try:
            if "%(" not in sql:
                return self._connection.execute(sql)
            named: dict[str, Any] = {str(number): _whole(value) for number, value in enumerate(values, 1)}
            named |= {"project": self.project, "uptime": self._clock.uptime(), "machine": self._machine}
            return self._connection.execute(sql, named)
        except psycopg.Error as error:
            if isinstance(error, _LOST) or (isinstance(error, psycopg.OperationalError) and self._connection.broken):
                self._connection.close()
            raise clear(error, self.url, lost=self._connection.closed) from error

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        for values in rows:
            self.execute(sql, values)

    def pragma(self, name: str) -> int:
        """Rows ask for the version of SQLite's schema; what is here has all that any of them has."""
        assert name == "user_version"
        return 1 << 30

    def changes(self) -> int:
        assert self._cursor
        return self._cursor.rowcount

    def last_insert_rowid(self) -> int:
        assert self._cursor
        row = self._cursor.fetchone()
        assert row
        return int(row[0])

    def __enter__(self) -> ServerLink:
        """Reads from here on are of one moment."""
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._inside = True
        return self

    def __exit__(self, *raised: object) -> None:
        self._inside = False
        if not self._connection.closed:
            self._run("COMMIT", ())


def _whole(value: Any) -> Any:
    """PostgreSQL stores no NUL in a text; events have theirs escaped."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


def wanted_of(url: str) -> str:
    """How to connect, with the settings that every connection of ours has."""
    try:
        wanted = conninfo_to_dict(url)
    except psycopg.Error:
        raise UsageError(
            "the database URL cannot be read",
            hint="Write it as postgresql://USER@HOST/NAME, with %40 for an @ in the password, %2F for a / and so on.",
        ) from None
    for key, value in (
        ("connect_timeout", CONNECT_SECONDS),
        ("application_name", f"quintet {__version__}"),
        ("client_encoding", "UTF8"),
        ("keepalives_idle", 10),
        ("keepalives_interval", 5),
        ("keepalives_count", 3),
        ("tcp_user_timeout", 30_000),
    ):
        wanted.setdefault(key, value)
    return make_conninfo("", **wanted)


def connected(url: str) -> psycopg.Connection[Row]:
    """A connection with limits to every statement; a server that is just starting is waited for."""
    wanted = wanted_of(url)
    until = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            connection = LimitedConnection.connect(wanted, autocommit=True)
            connection.execute(statements("database.sql")["limits"])
            return connection
        except psycopg.Error as error:
            if any(word in str(error) for word in _SOON) and time.monotonic() < until:
                time.sleep(PAUSE_SECONDS)
                continue
            raise clear(error, url, lost=True) from None


def clear(error: psycopg.Error, url: str, *, lost: bool) -> StoreError:
    """The error in one line, with what to do."""
    shown, why = shown_url(url), _said(error, url)
    match error:
        case pg.InvalidPassword() | pg.InvalidAuthorizationSpecification():
            return _refused(shown, why)
        case pg.InsufficientPrivilege():
            return StoreUnwritable(
                f"{shown}: {why}", hint="Ask whoever runs the database to grant your role the tables of Quintet."
            )
        case pg.UndefinedTable() | pg.UndefinedColumn():
            return StoreOlder(f"{shown}: {why}", hint="`quintet database status` says what is there.")
        case pg.ReadOnlySqlTransaction():
            return StoreUnwritable(f"{shown}: it is read-only", hint="Name the primary server, not a standby.")
        case pg.DiskFull() | pg.OutOfMemory():
            return StoreUnwritable(f"{shown}: {why}", hint="Make room on the database server.")
        case pg.QueryCanceled():
            return StoreError(f"{shown}: a statement took too long and was stopped ({why})")
        case pg.LockNotAvailable():
            return StoreError(f"{shown}: another process has held this project for 10 s ({why})")
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return StoreDamaged(f"{shown}: the database is damaged ({why})", hint="Restore it from a backup.")
        case pg.TooManyConnections():
            return StoreUnreachable(f"{shown}: {why}", hint="Close some sessions, or raise max_connections.")
    if lost:
        if any(word in why for word in ("password", "authentication", "pg_hba.conf", "role ")):
            return _refused(shown, why)
        if "database" in why and "does not exist" in why:
            return StoreUnreachable(f"{shown}: {why}", hint="Create it (createdb NAME), then `quintet database init`.")
        return StoreUnreachable(
            f"{shown}: cannot be reached ({why})",
            hint="Nothing that was acknowledged is lost. Check that the server runs and the address is right, "
            "then `quintet --resume`.",
        )
    return StoreError(f"{shown}: {why}")


def _refused(shown: str, why: str) -> StoreUnreachable:
    return StoreUnreachable(
        f"{shown}: the server lets nobody in ({why})",
        hint="Check user and password: in the URL, in ~/.pgpass, or in PGPASSWORD.",
    )


def _said(error: psycopg.Error, url: str) -> str:
    """What the server or the driver says, in one line and without secrets."""
    diagnosed = error.diag.message_primary if error.diag else None
    lines = [line.strip() for line in (diagnosed or str(error)).splitlines() if line.strip()]
    failed = [line for line in lines if "failed: " in line]
    said = (failed or lines or [type(error).__name__])[0].rpartition("failed: ")[2]
    said = said.removeprefix("FATAL:").removeprefix("ERROR:").strip()
    for secret in secrets_in(url):
        said = said.replace(secret, HIDDEN)
    return said
