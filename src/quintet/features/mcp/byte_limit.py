"""How much a server has sent since it was last asked something, and how its connection was lost."""

from __future__ import annotations

MOST_BYTES = 16_000_000


class Flooded(Exception):
    """It sent more than anybody could want."""


class Gauge:
    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._counted = 0
        self.lost = ""  # why the connection is, once it is
        self.refusal = ""  # the last error of HTTP's own
        self.login = False  # whether a login was wanted, or one that allows more
        self.stray = ""  # the first line it wrote that was no message

    def reset(self) -> None:
        self._counted = 0

    def count(self, bytes_more: int) -> None:
        self._counted += bytes_more
        if self._counted > self._most:
            raise Flooded(f"it sent more than {self._most / 1e6:g} MB in one message, and was disconnected")
