"""Tables of other features in the database: their statements, the rows of one project, and the server's clock."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Iterator, Sequence

import psycopg

from quintet.domain.base.errors import QuintetError, StoreError
from quintet.features.postgres.link import Row, ServerLink, statements
from quintet.features.postgres.schema import checked, project_number

SQL = statements("database.sql")
CLOCK_SECONDS = 10.0  # that the server's clock is known for
_PLACE = re.compile(r"\?")


class PostgresTables:
    """Port `SharedTables`. A lost connection is made anew by the next call outside a transaction."""

    def __init__(self, url: str, project: str, *, make: bool) -> None:
        self._link = checked(ServerLink(url, reads_only=False))
        self._link.project = number = project_number(self._link, project, make=make)
        self.owner = str(number) if number else ""
        self._inside = False
        self._ahead = 0.0  # of this machine's clock, the server's
        self._asked = float("-inf")

    def execute(self, sql: str, values: Sequence[object] = ()) -> psycopg.Cursor[Row]:
        self._back()
        count = itertools.count(1)
        return self._link.execute(_PLACE.sub(lambda _: f"%({next(count)})s", sql), values)

    def _back(self) -> None:
        if self._link.lost and not self._inside:
            self._link.reconnect()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        self._back()
        self._link.execute(f"BEGIN; {SQL['lock_project'].replace('%(project)s', self.owner or '0')}")
        self._inside = True
        try:
            yield
            self._link.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(QuintetError):
                if not self._link.lost:
                    self._link.execute("ROLLBACK")
            raise
        finally:
            self._inside = False

    def epoch(self) -> float:
        """By the server's clock; while it cannot be reached, by what was known of it."""
        if time.monotonic() - self._asked >= CLOCK_SECONDS:
            with contextlib.suppress(StoreError):
                row = self.execute(SQL["clock"]).fetchone()
                self._ahead = float(row[0]) - time.time() if row else 0.0
                self._asked = time.monotonic()
        return time.time() + self._ahead

    def close(self) -> None:
        self._link.close()
