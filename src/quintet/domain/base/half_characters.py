"""Halves of characters: JSON can write a character as two, and a server may send them apart, or only one.

Two halves become their character again; a half alone becomes U+FFFD, the mark of what could not be read.
"""

from __future__ import annotations

from quintet.domain.base.lazy_regex import regex

_HALF = regex("[\ud800-\udfff]")
_FIRST_HALF = regex("[\ud800-\udbff]\\Z")


def whole_characters(text: str) -> str:
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class CharacterStream:
    """A text that comes in pieces: a first half at the end of one waits for the next."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        piece = self._half + piece
        self._half = piece[-1] if _FIRST_HALF.search(piece) else ""
        return whole_characters(piece[:-1] if self._half else piece)

    def rest(self) -> str:
        half, self._half = self._half, ""
        return whole_characters(half)
