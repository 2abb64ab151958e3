"""Colour roles as terminal colours, where the terminal has them and the user wants them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from quintet.domain.base import text_table
from quintet.domain.base.text_table import cells
from quintet.domain.dials import badge
from quintet.domain.dials.axes import Axes
from quintet.domain.journal.describe import Line

_CODES = {
    "dim": "2",
    "accent": "36",
    "success": "32",
    "warning": "33",
    "error": "31",
    "info": "34",
    "bold": "1",
    "match": "1;33",
    "italic": "3",
    "underline": "4",
    "strike": "9",
    "heading": "1;36",
    "code_inline": "33",
}


class Painter:
    def __init__(self, stream: TextIO, setting: str = "auto", *, room: int = 0) -> None:
        """`room`: the cells of a line, which is broken between words; 0 leaves that to the terminal."""
        self._stream = stream
        self._room = room
        self.color = wants_color(stream, setting)

    def paint(self, text: str, role: str) -> str:
        """`role` may be several, with spaces between."""
        code = ";".join(filter(None, map(_CODES.get, role.split()))) if self.color else ""
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    def badge(self, axes: Axes, *, paused: bool = False) -> str:
        words = [self.paint(word, badge.ROLES[word]) for word in badge.labels(axes)]
        return badge.BAR.join(words) + (f" {badge.PAUSED}" if paused else "")

    def print(self, lines: Iterable[Line]) -> None:
        for line in lines:
            for row in folded(line.text, self._room):
                self.write(self.paint(row, line.role) + "\n")

    def write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def folded(text: str, room: int) -> list[str]:
    """A line as lines of at most so many cells, the later ones as far in as the first; a long word stays whole."""
    if not room or cells(text) <= room:
        return [text]
    indent = " " * (len(text) - len(text.lstrip()))
    return [f"{indent}{row}" for row in text_table.folded(text.strip(), room - len(indent))]


def wants_color(stream: TextIO, setting: str) -> bool:
    if setting in ("always", "never"):
        return setting == "always"
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def forgiving(stream: TextIO) -> TextIO:
    """A stream that prints what it can in any locale, instead of failing on a bar or a dash."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    return stream


def stdout() -> TextIO:
    return forgiving(sys.stdout)
