"""What a command printed, read as it comes: its beginning and end in memory, the whole in a file once it is long."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable
from typing import Protocol

from quintet.domain.base.redaction import Chunks

_CHUNK = 65_536
_PIPE_BYTES = 1_048_576  # a program that prints a lot is then not held up by us
_LAST_WORDS = 4_000_000  # read after the end at most; a command that prints more than a pipe holds is not over
WHOLE_BYTES = 100_000_000  # the most a kept file holds
SHOWN_BYTES = 4_000  # of what is read at once; a program that prints without end is to leave room for an interrupt


class Output:
    """`redacted` takes secrets out as it comes, so that none is left in a piece, in the file, or at a cut."""

    def __init__(
        self,
        keep: int,
        on_output: Callable[[str], None] | None = None,
        whole: str = "",
        redacted: Chunks | None = None,
    ) -> None:
        self._redacted = redacted
        self._half = keep // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._on_output = on_output
        self._whole = whole
        self._file: int | None = None
        self._written = 0
        self.dropped = 0

    def add(self, data: bytes) -> None:
        if self._redacted:
            data = self._redacted.feed(data)
        if data:
            self._take(data)

    def _take(self, data: bytes) -> None:
        if self._on_output:
            self._on_output(data[-SHOWN_BYTES:].decode("utf-8", "replace"))
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
        where = f"; the full output is in {self._whole}" if self._written else ""
        more = f", its first {WHOLE_BYTES} bytes" if self._written >= WHOLE_BYTES else ""
        middle = f"\n… {self.dropped} bytes omitted{where}{more} …\n".encode() if self.dropped else b""
        return b"".join((self._head, middle, self._tail)).decode("utf-8", "replace")

    def close(self) -> None:
        if self._redacted and (rest := self._redacted.rest()):
            self._take(rest)
        if self._file is not None:
            os.close(self._file)
            self._file = None


class OutputSink(Protocol):
    def add(self, data: bytes) -> None: ...


class PipeReader:
    """Hands on what comes through a pipe, or from a terminal, as it comes."""

    def __init__(self, handle: int, output: OutputSink) -> None:
        self._handle = handle
        self._output = output
        self._loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):  # a terminal; or the user's share of pipe memory is used up
            fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(handle, False)
        self._over = False
        self._loop.add_reader(handle, self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._handle, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # a terminal whose other side is closed
            data = b""
        if data:
            self._output.add(data)
        else:
            self._over = True
            self._loop.remove_reader(self._handle)

    def hold(self) -> None:
        """Take nothing for now: the program waits once the pipe is full."""
        self._loop.remove_reader(self._handle)

    def go_on(self) -> None:
        if not self._over:
            self._loop.add_reader(self._handle, self._readable)

    def drain(self) -> None:
        """Take what is left, once the command is over."""
        left = _LAST_WORDS
        with contextlib.suppress(OSError):
            while left > 0 and (data := os.read(self._handle, _CHUNK)):
                self._output.add(data)
                left -= len(data)

    def stop(self) -> None:
        self._over = True
        self._loop.remove_reader(self._handle)
