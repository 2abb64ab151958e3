"""Small SQLite files beside the store."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quintet.adapters.sqlite.own_files import opened, writing
from quintet.domain.base.errors import StoreUnwritable

SCHEMA = """
CREATE TABLE IF NOT EXISTS pots (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS lids (pot TEXT REFERENCES pots (name) DEFERRABLE INITIALLY DEFERRED);
"""


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "schema.sql"
    path.write_text(SCHEMA)
    return str(path)


def names(db: sqlite3.Connection) -> list[str]:
    return [row[0] for row in db.execute("SELECT name FROM pots")]


def test_a_file_is_private_and_opens_again(tmp_path: Path, schema: str) -> None:
    path = tmp_path / "new" / "own.db"
    for _ in range(2):
        opened(str(path), schema).close()
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_what_fails_is_not_written_and_the_next_is(tmp_path: Path, schema: str) -> None:
    path = str(tmp_path / "own.db")
    with closing(opened(path, schema)) as db:
        db.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(ZeroDivisionError), writing(db, path):
            db.execute("INSERT INTO pots VALUES ('a')")
            raise ZeroDivisionError
        with pytest.raises(StoreUnwritable, match="cannot be written"), writing(db, path):
            db.execute("INSERT INTO pots VALUES ('b')")
            db.execute("INSERT INTO lids VALUES ('none')")  # found wrong at the end
        assert names(db) == []
        with writing(db, path):
            db.execute("INSERT INTO pots VALUES ('c')")
        assert names(db) == ["c"]


def test_what_is_no_database_is_an_error_that_names_it(tmp_path: Path, schema: str) -> None:
    path = tmp_path / "own.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreUnwritable, match="cannot be written"):
        opened(str(path), schema)
