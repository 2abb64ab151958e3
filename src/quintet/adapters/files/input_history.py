"""Port `PastInputs`: what was submitted in a project, one JSON line each, in its state folder; the newest 500.

Two programs may add at once: a line is one write. A line that cannot be read is passed over. Known secrets are starred
out, also of what was written down before they were known.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from msgspec import DecodeError
from msgspec.json import decode, encode

from quintet.adapters.files.private_files import private_folder

MOST = 500
MOST_CHARACTERS = 100_000  # of one input; a longer one is not kept
MOST_BYTES = 20_000_000


class InputHistory:
    def __init__(self, path: str, redacted: Callable[[str], str] = str) -> None:
        self._path = path
        self._redacted = redacted

    def all(self) -> list[str]:
        found, clean = self._read()
        if not clean:
            with contextlib.suppress(OSError):
                self._rewrite(found)
        return found

    def _read(self) -> tuple[list[str], bool]:
        """The inputs without known secrets, and whether they are without in the file, too."""
        found: list[str] = []
        clean = True
        for line in self._lines():
            with contextlib.suppress(DecodeError):
                written = decode(line, type=str)
                text = self._redacted(written)
                clean = clean and text == written
                if found[-1:] != [text]:
                    found.append(text)
        return found[-MOST:], clean

    def add(self, text: str) -> None:
        """Keep an input, if it can be kept: that somebody typed it is no reason to fail."""
        if len(text) > MOST_CHARACTERS:
            return
        with contextlib.suppress(OSError):
            private_folder(os.path.dirname(self._path))
            if len(self._lines()) >= 2 * MOST:
                self._rewrite(self._read()[0])
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(handle, "ab", buffering=0) as file:
                file.write(encode(self._redacted(text)) + b"\n")

    def _rewrite(self, texts: list[str]) -> None:
        temporary = f"{self._path}.{os.getpid()}"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.writelines(encode(text) + b"\n" for text in texts)
        os.replace(temporary, self._path)

    def _lines(self) -> list[bytes]:
        try:
            with open(self._path, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(file.tell() - MOST_BYTES, 0))
                return file.read().splitlines()
        except OSError:
            return []
