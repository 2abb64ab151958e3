"""Markdown on a terminal while it streams, without a screen of its own.

A row that is finished is written once. The line that still grows is written as far as it is there, and only what was
added to it, until its marks turn out to mean something: then it is written anew in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quintet.surfaces.paint import Painter

MOST_OPEN = 20  # rows of a table that grows; a longer one is shown when it is whole
AGAIN = "\r\x1b[J"  # from the beginning of the line, and nothing behind it


class GrowingRows(Protocol):
    """A text that grows, as rows of pieces with roles."""

    def append(self, text: str) -> None: ...

    def rows(self, width: int) -> list[tuple[tuple[str, str], ...]]: ...

    def finished(self) -> int:
        """How many of the rows will stay as they are."""


class StreamedMarkdown:
    def __init__(self, painter: Painter, text: GrowingRows) -> None:
        self._painter = painter
        self._text = text
        self._width = 0
        self._written = 0  # rows that are finished
        self._open: list[str] = []  # rows of the line that grows, as they are written

    def add(self, text: str, columns: int) -> bool:
        """Write what comes; returns whether a line is still open."""
        self._width = self._width or max(columns - 1, 20)
        self._text.append(text)
        rows = self._text.rows(self._width)
        finished = self._text.finished()
        self._write([self._painted(row) for row in rows[self._written : finished]], ended=True)
        self._written = max(finished, self._written)
        if len(rows) - self._written <= MOST_OPEN:
            self._write([self._painted(row) for row in rows[self._written :]], ended=False)
        return bool(self._open)

    def finish(self) -> bool:
        """Write what is left of it; returns whether a line is still open."""
        if self._width:
            rows = self._text.rows(self._width)
            self._write([self._painted(row) for row in rows[self._written :]], ended=False)
        return bool(self._open)

    def _write(self, rows: Sequence[str], *, ended: bool) -> None:
        """These rows in the place of the open ones; with `ended` nothing is open after them."""
        if not rows:
            return
        before, after = "\n".join(self._open), "\n".join(rows)
        if after.startswith(before):
            out = after[len(before) :]
        else:
            up = len(self._open) - 1
            out = (f"\x1b[{up}A" if up > 0 else "") + AGAIN + after
        self._open = [] if ended else list(rows)
        self._painter.write(out + ("\n" if ended else ""))

    def _painted(self, row: Sequence[tuple[str, str]]) -> str:
        return "".join(self._painter.paint(text, role) for text, role in row)
