"""One SQLite file, opened safely: pragmas, ordered migrations, and errors a person can act on.

A database written by a newer Quintet is refused before anything is written to it. A damaged one is set aside whole,
and said; nothing in it is deleted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

import apsw

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.processes.system import process_start
from quintet.domain.base.errors import StoreDamaged, StoreError, StoreNewer, StoreUnwritable

SQL_FOLDER = os.path.join(os.path.dirname(__file__), "sql")
BUSY_MS = 10_000
WAL_PAGES = 250
# What an older schema that is only looked at lacks: until which version, and what is seen in its place.
LACKING = (
    (3, "CREATE TEMP VIEW sessions AS SELECT *, 0 AS lease_number FROM main.sessions"),
    (4, "CREATE TEMP VIEW journal AS SELECT *, NULL AS contents FROM main.journal"),
    (5, "CREATE TEMP VIEW task_runtime AS SELECT *, 0 AS fence FROM main.task_runtime"),
)
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_UNWRITABLE = (apsw.FullError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError)


@cache
def load_queries(name: str = "queries.sql") -> dict[str, str]:
    """The statements of a file by their names: one of the store's, or any by its whole path."""
    with open(os.path.join(SQL_FOLDER, name), encoding="utf-8") as file:
        sections = file.read().split("-- name: ")[1:]
    return {name.strip(): body.strip() for name, _, body in (section.partition("\n") for section in sections)}


def migrations() -> list[str]:
    """Migration files in order; the n-th takes a database from version n-1 to n."""
    return sorted(name for name in os.listdir(SQL_FOLDER) if name[0].isdigit())


@contextmanager
def clear_errors(path: str) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except _DAMAGE as error:
        raise StoreDamaged(f"{path}: the database is damaged ({error})", hint=_kept(path)) from error
    except StoreDamaged as error:
        error.hint = error.hint or _kept(path)
        raise
    except _UNWRITABLE as error:
        raise _unwritable(path, str(error)) from error
    except apsw.BusyError as error:
        raise StoreError(f"{path}: another process has held it for {BUSY_MS // 1000} s ({error})") from error


def _unwritable(path: str, why: str) -> StoreUnwritable:
    return StoreUnwritable(
        f"{path}: cannot be written ({why})",
        hint="Free some space, make the folder writable, or set XDG_STATE_HOME to another folder.",
    )


def connect(path: str, *, vfs: str | None = None) -> apsw.Connection:
    """Open for reading and writing, at the current schema version."""
    with clear_errors(path):
        fresh = not os.path.exists(path)
        if fresh and vfs is None:
            _create(path)
        connection = apsw.Connection(path, vfs=vfs)
        connection.set_busy_timeout(BUSY_MS)
        names = migrations()
        version = _refuse_newer(connection, path, len(names))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # A log that starts over soon stays in blocks the disk has already allocated: a sync costs a quarter less.
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        connection.execute("PRAGMA foreign_keys = ON")
        if version < len(names):
            _refuse_live(connection, path, version)
            if version:
                _back_up(connection, path, version)
            _migrate(connection, names)
        if fresh and vfs is None:
            os.chmod(path, 0o600)
        return connection


def _create(path: str) -> None:
    """An empty store appears under its name whole, or not at all: a kill or a full disk leaves nothing behind."""
    blank = apsw.Connection(":memory:")
    _migrate(blank, migrations())
    folder = os.path.dirname(path) or "."
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:  # a file system that has no files without a name: SQLite makes it, or says why it cannot
        return
    with open(handle, "wb") as file:
        try:
            file.write(blank.serialize("main"))
            file.flush()  # all of it: a single write takes what still fits, and says nothing
            os.fsync(handle)
        except OSError as error:
            raise _unwritable(path, error.strerror or str(error)) from error
        with suppress(OSError):  # another process was faster; or links are not possible, and SQLite makes it
            os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=handle, follow_symlinks=True)


def _back_up(connection: apsw.Connection, path: str, version: int) -> None:
    """A copy of an older store, as it was before its schema changes: PATH.vN."""
    kept, making = f"{path}.v{version}", f"{path}.v{version}.{os.getpid()}"
    if os.path.exists(kept):
        return
    try:
        connection.execute("VACUUM INTO ?", (making,))
        os.chmod(making, 0o600)
        os.replace(making, kept)
    finally:
        with suppress(OSError):
            os.remove(making)


def open_to_read(path: str) -> apsw.Connection | None:
    """What is there; None if nothing was ever stored: no file, or one that was begun and never written."""
    if not os.path.exists(path):
        return None
    connection = connect_to_read(path)
    with clear_errors(path):
        return connection if _version(connection) else None


def connect_to_read(path: str) -> apsw.Connection:
    """Open what is there; never creates and never migrates."""
    with clear_errors(path):
        try:
            connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
            connection.set_busy_timeout(BUSY_MS)
            _version(connection)
        except (apsw.CantOpenError, apsw.ReadOnlyError):  # a disk that cannot be written can still be read
            name = "".join(
                f"%{byte:02x}" if byte > 127 or chr(byte) in "%?#" else chr(byte) for byte in os.fsencode(path)
            )
            still = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(f"file:{name}?immutable=1", flags=still)
        version = _refuse_newer(connection, path, len(migrations()))
        for since, view in LACKING:
            if 0 < version < since:
                connection.execute(view)
        return connection


def _refuse_newer(connection: apsw.Connection, path: str, known: int) -> int:
    """The schema's version; one we do not know is refused, and every byte of it left as it is."""
    unmerged = os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, unmerged)  # closing would merge the log
    version = _version(connection)
    if version > known:
        connection.close()
        raise StoreNewer(
            f"{path}: schema version {version}, this Quintet supports {known}; it was not changed",
            hint="Update Quintet, or set XDG_STATE_HOME to another folder to work without this state.",
        )
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    return version


def _refuse_live(connection: apsw.Connection, path: str, version: int) -> None:
    """An older Quintet that is still at work knows nothing of a newer schema: it is let finish first."""
    if not version:
        return
    owned = "SELECT id, owner_pid, owner_started, lease_until FROM sessions WHERE owner <> ''"
    for session, pid, started, until in connection.execute(owned).fetchall():
        began = str(started).rpartition("/")[2]
        if process_start(int(str(pid))) == began if began else float(str(until)) >= time.time():
            connection.close()
            raise StoreError(
                f"{path}: its schema is from an older Quintet, which still runs session {session}",
                hint=f"Close that session (process {pid}), then try again.",
            )


def set_aside(path: str, *, move: bool) -> str:
    """Copy or move a damaged database and its companions into `damaged/TIME/` beside it; returns that folder.

    TIME is when the database was last written, so that the same damage is kept once.
    """
    from shutil import copy2  # a database is seldom damaged, and every command opens one

    written = os.stat(path).st_mtime_ns
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(written // 10**9)) + f".{written % 10**9:09d}Z"
    folder = os.path.join(os.path.dirname(path), "damaged", stamp)
    private_folder(folder)
    for suffix in ("", "-wal", "-shm"):
        kept = os.path.join(folder, os.path.basename(path) + suffix)
        if os.path.exists(path + suffix):
            if move:
                os.replace(path + suffix, kept)
            elif not os.path.exists(kept):
                copy2(path + suffix, kept)
    return folder


def _kept(path: str) -> str:
    try:
        folder = set_aside(path, move=False)
    except OSError as error:
        return f"It could not be copied ({error.strerror}); make a copy before you continue."
    return f"A copy is in {folder}. Other sessions may still open; `sqlite3 state.db .recover` may restore this one."


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def _migrate(connection: apsw.Connection, names: list[str]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(_version(connection), len(names)):
            with open(os.path.join(SQL_FOLDER, names[number]), encoding="utf-8") as file:
                connection.execute(file.read())
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def unmarked(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """What full-text search marks with char(2) and char(3), as plain text, and where the matches are in it."""
    plain, *parts = marked.split("\x02")
    matches = []
    for part in parts:
        match, _, rest = part.partition("\x03")
        matches.append((len(plain), len(plain) + len(match)))
        plain += match + rest
    return plain, tuple(matches)
