"""What was submitted in a project: one JSON line each, the newest 500."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable

from msgspec import DecodeError
from msgspec.json import decode, encode

from quintet.adapters.files.private_files import private, private_folder

MOST_INPUTS = 500
MOST_CHARACTERS = 100_000  # of one input; a longer one is not kept
MOST_BYTES = 20_000_000  # of the inputs that are read


class InputHistory:
    """Port `PastInputs`: what was submitted in a project.

    Two programs may add at once: a line is one write. A line that cannot be read is passed over. Known secrets are
    starred out, also of what was written before they were known.
    """

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
        return found[-MOST_INPUTS:], clean

    def unreadable(self) -> int:
        """How many lines are none."""
        return sum(not _is_text(line) for line in self._lines())

    def drop_unreadable(self) -> int:
        """Delete the lines that are none; returns how many."""
        lines = self._lines()
        whole = [line for line in lines if _is_text(line)]
        if len(whole) < len(lines):
            self._replace(line + b"\n" for line in whole)
        return len(lines) - len(whole)

    def add(self, text: str) -> None:
        """Keep an input, if it can be kept: that somebody typed it is no reason to fail."""
        if len(text) > MOST_CHARACTERS:
            return
        with contextlib.suppress(OSError):
            private_folder(os.path.dirname(self._path))
            if len(self._lines()) >= 2 * MOST_INPUTS:
                self._rewrite(self._read()[0])
            with open(self._path, "ab", buffering=0, opener=private) as file:
                file.write(encode(self._redacted(text)) + b"\n")

    def _rewrite(self, texts: list[str]) -> None:
        self._replace(encode(text) + b"\n" for text in texts)

    def _replace(self, lines: Iterable[bytes]) -> None:
        temporary = f"{self._path}.{os.getpid()}"
        with open(temporary, "wb", opener=private) as file:
            file.writelines(lines)
        os.replace(temporary, self._path)

    def _lines(self) -> list[bytes]:
        try:
            with open(self._path, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(file.tell() - MOST_BYTES, 0))
                return file.read().splitlines()
        except OSError:
            return []


def _is_text(line: bytes) -> bool:
    with contextlib.suppress(DecodeError):
        decode(line, type=str)
        return True
    return False
