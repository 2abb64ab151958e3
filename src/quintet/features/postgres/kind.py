"""What opens `postgresql://…`: the store of a session, what is looked up in it, and the search of its journal."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from quintet.domain.base.errors import StoreError, UsageError
from quintet.domain.ports.ports import Clock
from quintet.domain.ports.stores import (
    Hits,
    Progress,
    ProjectStore,
    SharedTables,
    StoredRows,
    StoredTasks,
    StoredWorkers,
)

if find_spec("psycopg") is None or find_spec("procrastinate") is None:
    raise UsageError(
        "the database URL is PostgreSQL's, but psycopg and procrastinate are not both installed",
        hint="quintet install postgres",
    )

from quintet.features.postgres.link import ServerLink
from quintet.features.postgres.rows import PostgresRows, PostgresTaskRows, PostgresWorkerRows
from quintet.features.postgres.schema import checked, project_number
from quintet.features.postgres.search import search
from quintet.features.postgres.store import PostgresStore
from quintet.features.postgres.tables import PostgresTables


class PostgresKind:
    """Port `StoreKind`."""

    def open(self, url: str, project: str, clock: Clock) -> ProjectStore:
        return PostgresStore(url, project, clock)

    def rows(self, url: str, project: str) -> StoredRows | None:
        link = _looking(url, project)
        return PostgresRows(link) if link else None

    def tasks(self, url: str, project: str) -> StoredTasks | None:
        link = _looking(url, project)
        return PostgresTaskRows(link, link.shown) if link else None

    def workers(self, url: str, project: str) -> StoredWorkers | None:
        link = _looking(url, project)
        return PostgresWorkerRows(link) if link else None

    def tables(self, url: str, project: str, *, make: bool) -> SharedTables:
        return PostgresTables(url, project, make=make)

    def search(self, url: str, project: str, words: Sequence[str], limit: int, progress: Progress) -> Hits:
        link = _looking(url, project)
        if link is None:
            return Hits(0, [])
        link.close()
        return search(url, link.project, words, limit, progress)

    def problem(self, url: str, thorough: bool) -> str:
        try:
            checked(ServerLink(url)).close()
        except StoreError as error:
            return f"{error.message}. {error.hint}".strip()
        return ""


def _looking(url: str, project: str) -> ServerLink | None:
    """A connection that only reads, for a project that is there."""
    link = checked(ServerLink(url))
    link.project = project_number(link, project)
    if not link.project:
        link.close()
        return None
    return link


KIND = PostgresKind()
