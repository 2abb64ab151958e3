"""What a command printed: its beginning and end in memory, and the whole in a file once that is too little."""

from __future__ import annotations

import os
from collections.abc import Callable

WHOLE_BYTES = 100_000_000  # the most a kept file holds


class Output:
    def __init__(self, keep: int, on_output: Callable[[str], None] | None = None, whole: str = "") -> None:
        self._half = keep // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._on_output = on_output
        self._whole = whole
        self._file: int | None = None
        self._written = 0
        self.dropped = 0

    def add(self, data: bytes) -> None:
        if self._on_output:
            self._on_output(data.decode("utf-8", "replace"))
        if self._file is not None:
            self._keep(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if (over := len(self._tail) - self._half) > 0:
            if self._whole and self._file is None:
                self._spill()
            del self._tail[:over]
            self.dropped += over

    def _spill(self) -> None:
        """The first time something has to go: from here on everything is on disk."""
        os.makedirs(os.path.dirname(self._whole), mode=0o700, exist_ok=True)
        self._file = os.open(self._whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._keep(bytes(self._head + self._tail))

    def _keep(self, data: bytes) -> None:
        assert self._file is not None
        room = WHOLE_BYTES - self._written
        if room > 0:
            self._written += os.write(self._file, data[:room])

    def text(self) -> str:
        where = f"; the whole is in {self._whole}" if self._written else ""
        more = f", its first {WHOLE_BYTES} bytes" if self._written >= WHOLE_BYTES else ""
        middle = f"\n… {self.dropped} bytes left out{where}{more} …\n".encode() if self.dropped else b""
        return b"".join((self._head, middle, self._tail)).decode("utf-8", "replace")

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
