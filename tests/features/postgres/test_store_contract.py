"""The store on PostgreSQL keeps what every store promises."""

import os
from itertools import count

import pytest

from quintet.adapters.processes.system import SystemClock
from quintet.domain.ports.stores import Hits, ProjectStore, StoredRows, StoredTasks
from quintet.features.postgres.kind import KIND
from tests import store_contract
from tests.postgres import Server
from tests.store_contract import *  # noqa: F403

NAMES = count(1)


class PostgresStores:
    """A project of its own in the database that these tests share."""

    def __init__(self, server: Server, project: str) -> None:
        self._server = server
        self.url, self._project = server.url("model"), project

    def open(self) -> ProjectStore:
        return KIND.open(self.url, self._project, SystemClock())

    def rows(self) -> StoredRows:
        found = KIND.rows(self.url, self._project)
        assert found
        return found

    def tasks(self) -> StoredTasks:
        found = KIND.tasks(self.url, self._project)
        assert found
        return found

    def search(self, *words: str) -> Hits:
        return KIND.search(self.url, self._project, words, 10, lambda done, of: None)

    def contents(self) -> int:
        mine = f"(SELECT id FROM projects WHERE name = '{self._project}')"
        found = self._server.execute(f"SELECT count(*) FROM contents WHERE project = {mine}", "model")
        return int(str(found[0][0]))

    def spoil_submission(self, id: str) -> None:
        self._server.execute(f"UPDATE inbox SET data = 'x' WHERE id = '{id}'", "model")


@pytest.fixture
def stores(postgres: Server) -> store_contract.Stores:
    return PostgresStores(postgres, f"contract-{os.getpid()}-{next(NAMES)}")
