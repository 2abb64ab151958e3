"""Notices that somebody wrote for a project: told by the database (LISTEN), in a thread of its own.

`version` is another after every write. Where the connection breaks it is made anew, and counts as a change. Behind a
pooler that passes no notifications on, a look every few seconds takes their place.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time

from quintet.domain.base.errors import QuintetError
from quintet.features.postgres.link import ServerLink, statements

LOOK_SECONDS = 5.0
PAUSE_SECONDS = 1.0


class Changes:
    def __init__(self, url: str, project: int) -> None:
        self.version = 0
        self._url = url
        self._project = project
        self._closing = False
        self._woken, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._follow, name="quintet-changes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            os.write(self._wake, b"x")
            self._thread.join()
            os.close(self._wake)
            os.close(self._woken)

    def _follow(self) -> None:
        while not self._closing:
            with contextlib.suppress(QuintetError, OSError):
                self._listen()
            self.version += 1  # what was missed is looked for
            if not self._closing:
                select.select([self._woken], [], [], PAUSE_SECONDS)

    def _listen(self) -> None:
        link = ServerLink(self._url, project=self._project, reads_only=False)
        try:
            link.execute("LISTEN quintet")
            seen = self._newest(link)
            self.version += 1
            looked = time.monotonic()
            while not self._closing:
                select.select([link.socket, self._woken], [], [], LOOK_SECONDS)
                if str(self._project) in link.notified():
                    self.version += 1
                if time.monotonic() - looked >= LOOK_SECONDS:
                    looked, before, seen = time.monotonic(), seen, self._newest(link)
                    self.version += before != seen
        finally:
            link.close()

    @staticmethod
    def _newest(link: ServerLink) -> object:
        return link.execute(statements("database.sql")["newest"]).fetchone()
