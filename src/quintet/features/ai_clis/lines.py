"""Lines out of what a program prints, as it comes: bounded in length, all of them in a file, whatever their bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, BinaryIO

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.processes.bounded_output import WHOLE_BYTES
from quintet.domain.base import wire_json
from quintet.domain.base.redaction import Chunks

LINE_BYTES = 4_000_000  # a longer line is cut, and then it is no event any more


class Whole:
    """The file that everything goes to; what cannot be written there is a problem, and not the program's end."""

    def __init__(self, path: str) -> None:
        self.problem = ""
        self._path = path
        self._file: BinaryIO | None = None
        self._written = 0
        if path:
            try:
                private_folder(os.path.dirname(path))
                self._file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")  # noqa: SIM115
            except OSError as error:
                self._fail(error)

    def keep(self, data: bytes) -> None:
        if self._file is None:
            return
        room = WHOLE_BYTES - self._written
        try:
            self._file.write(data[:room])
            self._written += len(data[:room])
            if len(data) >= room:
                self.problem = f"{self._path} contains only the first {WHOLE_BYTES} bytes of its output"
                self.close()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.problem = f"its output is not completely saved: {self._path}: {error.strerror}"
        self.close()

    def close(self) -> None:
        file, self._file = self._file, None
        if file:
            try:
                file.close()
            except OSError as error:
                self.problem = self.problem or f"its output is not completely saved: {self._path}: {error.strerror}"


class LineSplitter:
    """Takes bytes, gives whole lines to `on_line`, with how many bytes of each were left out.

    To the file, too, they go whole, without secrets: another stream writes there as well, and must not come between.
    """

    def __init__(self, whole: Whole, redacted: Chunks, on_line: Callable[[bytes, int], None]) -> None:
        self._whole = whole
        self._redacted = redacted
        self._unkept = b""
        self._on_line = on_line
        self._begun = bytearray()
        self._dropped = 0
        self.only_kept = False  # nobody asks for lines any more: the file gets what comes, and a full pipe is soon read

    def add(self, data: bytes) -> None:
        self._keep(self._redacted.feed(data))
        if self.only_kept:
            return
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._extend(piece)
            self._give()
        self._extend(rest)

    def _keep(self, data: bytes) -> None:
        held = self._unkept + data
        cut = held.rfind(b"\n", len(self._unkept)) + 1 or (len(held) if len(held) > LINE_BYTES else 0)
        self._unkept = held[cut:]
        if cut:
            self._whole.keep(held[:cut])

    def keep_rest(self) -> None:
        """What a line without its end said so far."""
        rest, self._unkept = self._unkept + self._redacted.rest(), b""
        if rest:
            self._whole.keep(rest)

    def _extend(self, piece: bytes) -> None:
        room = LINE_BYTES - len(self._begun)
        self._begun += piece[:room]
        self._dropped += len(piece) - len(piece[:room])

    def _give(self) -> None:
        line, self._begun = bytes(self._begun), bytearray()
        dropped, self._dropped = self._dropped, 0
        if line.strip() or dropped:
            self._on_line(line, dropped)

    def finish(self) -> None:
        """The last line may lack its end."""
        self.keep_rest()
        self._give()


def event_in(line: bytes) -> dict[str, Any] | None:
    """The JSON object that a line is, if it is one."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        found = wire_json.decode(line)
    except ValueError:
        try:
            found = wire_json.decode(line.decode("utf-8", "replace"))
        except ValueError:
            return None
    return found if isinstance(found, dict) else None
