"""Words for a program's stdin, written as fast as it reads them; one that no longer listens is let be."""

from __future__ import annotations

import asyncio
import os


class Outlet:
    """`reads` is the end that the program gets; it is closed here once that has its own copy."""

    def __init__(self) -> None:
        self.reads, self._writes = os.pipe()
        os.set_blocking(self._writes, False)
        self._waiting = bytearray()
        self._loop = asyncio.get_running_loop()
        self._last = False
        self._open = True

    def handed_over(self) -> None:
        os.close(self.reads)

    def say(self, words: bytes, *, last: bool = False) -> None:
        """Say something, and with `last` nothing more."""
        if not self._open:
            return
        self._waiting += words
        self._last = self._last or last
        self._flush()

    def _flush(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self._writes, self._waiting)]
        except BlockingIOError:
            self._loop.add_writer(self._writes, self._flush)
            return
        except OSError:  # it no longer listens
            self._last = True
        self._loop.remove_writer(self._writes)
        if self._last:
            self.close()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_writer(self._writes)
            os.close(self._writes)
