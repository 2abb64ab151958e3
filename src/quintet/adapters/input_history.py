"""Port `PastInputs`: what was submitted in a project, one JSON line each, in its state folder; the newest 500.

Two programs may add at once: a line is one write. A line that cannot be read is passed over.
"""

from __future__ import annotations

import contextlib
import os

from msgspec import DecodeError
from msgspec.json import decode, encode

MOST = 500
MOST_CHARACTERS = 100_000  # of one input; a longer one is not kept
MOST_BYTES = 20_000_000


class InputHistory:
    def __init__(self, path: str) -> None:
        self._path = path

    def all(self) -> list[str]:
        found: list[str] = []
        for line in self._lines():
            with contextlib.suppress(DecodeError):
                text = decode(line, type=str)
                if found[-1:] != [text]:
                    found.append(text)
        return found[-MOST:]

    def add(self, text: str) -> None:
        """Keep an input, if it can be kept: that somebody typed it is no reason to fail."""
        if len(text) > MOST_CHARACTERS:
            return
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            if len(self._lines()) >= 2 * MOST:
                self._shorten()
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(handle, "ab", buffering=0) as file:
                file.write(encode(text) + b"\n")

    def _shorten(self) -> None:
        temporary = f"{self._path}.{os.getpid()}"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.writelines(encode(text) + b"\n" for text in self.all())
        os.replace(temporary, self._path)

    def _lines(self) -> list[bytes]:
        try:
            with open(self._path, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(file.tell() - MOST_BYTES, 0))
                return file.read().splitlines()
        except OSError:
            return []
