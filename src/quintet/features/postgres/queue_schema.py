"""The tables of procrastinate, which brings tasks to workers: made with ours, and brought up by its own migrations."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec

from quintet.domain.base.errors import StoreOlder, UsageError
from quintet.features.postgres.link import ServerLink, statements

SQL = statements("queue.sql")


@cache
def _folder() -> str:
    """Where the installed procrastinate keeps its statements; found without importing it."""
    found = find_spec("procrastinate")
    if found is None or not found.origin:
        raise UsageError(
            "procrastinate is not installed, which brings tasks to workers", hint="quintet install postgres"
        )
    return os.path.join(os.path.dirname(found.origin), "sql")


def queue_migrations() -> list[str]:
    return sorted(name for name in os.listdir(os.path.join(_folder(), "migrations")) if name.endswith(".sql"))


def bring_up(link: ServerLink) -> None:
    """In the transaction that brings up our own tables."""
    known, names = _migration(link), queue_migrations()
    if not known:
        link.execute(_read("schema.sql"))
    else:
        for name in (one for one in names if one > known):
            link.execute(_read(os.path.join("migrations", name)))
    if known < names[-1]:
        link.execute(SQL["set_migration"], (names[-1],))


def check_queue(link: ServerLink) -> None:
    """Raises where the queue's tables are older than the installed procrastinate. It works with newer ones."""
    newest = queue_migrations()[-1]
    if _migration(link) < newest:
        raise StoreOlder(
            f"{link.shown}: the queue's tables are older than the installed procrastinate",
            hint="`quintet database migrate` brings them up.",
        )


def _migration(link: ServerLink) -> str:
    row = link.execute(SQL["migration"]).fetchone()
    assert row
    return str(row[0])


def _read(name: str) -> str:
    with open(os.path.join(_folder(), name), encoding="utf-8") as file:
        return file.read()
