"""The store on SQLite keeps what every store promises."""

from pathlib import Path

import pytest

from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.journal_search import search
from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.domain.ports.stores import Hits
from tests import store_contract
from tests.store_contract import *  # noqa: F403


class SqliteStores:
    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def open(self) -> SqliteStore:
        return SqliteStore(self._path)

    def rows(self) -> Rows:
        return Rows(connect_to_read(self._path), self._path)

    def tasks(self) -> TaskRows:
        return TaskRows(connect_to_read(self._path), self._path)

    def search(self, *words: str) -> Hits:
        return search(f"{self._path}.words", self.rows(), words, 10)

    def contents(self) -> int:
        return int(str(connect_to_read(self._path).execute("SELECT count(*) FROM contents").fetchall()[0][0]))

    def spoil_submission(self, id: str) -> None:
        connect_to_read(self._path).execute("UPDATE inbox SET data = 'x' WHERE id = ?", (id,))


@pytest.fixture
def stores(tmp_path: Path) -> store_contract.Stores:
    return SqliteStores(tmp_path / "state.db")
