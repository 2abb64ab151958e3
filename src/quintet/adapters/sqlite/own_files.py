"""Small SQLite files beside the store: private, durable, and made with their tables when they are first opened."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from quintet.adapters.files.private_files import private, private_folder
from quintet.domain.base.errors import StoreUnwritable

BUSY_SECONDS = 10.0  # that another process may write


def opened(path: str, schema: str) -> sqlite3.Connection:
    """`schema` is a file of statements that can be carried out again and again. A file of another user's is refused."""
    try:
        private_folder(os.path.dirname(path))
        with open(path, "ab", opener=private):
            pass
        if os.stat(path).st_uid != os.geteuid():
            raise StoreUnwritable(f"{path}: it belongs to another user", hint="Nothing in it is used. Move it away.")
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            with open(schema, encoding="utf-8") as file:
                db.executescript(file.read())
        except BaseException:
            db.close()
            raise
    except (OSError, sqlite3.Error) as error:
        raise StoreUnwritable(f"{path}: cannot be written ({error})") from error
    return db


@contextmanager
def writing(db: sqlite3.Connection, path: str) -> Iterator[None]:
    """One transaction: all of it, or nothing and the error."""
    try:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    except sqlite3.Error as error:
        raise StoreUnwritable(f"{path}: cannot be written ({error})") from error
