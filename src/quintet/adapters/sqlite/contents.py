"""Long texts of events, each stored once whatever refers to it.

A row of the journal holds its event as JSON. A string of it that is long lies in the table `contents`, found by its
digest and compressed; the row has an empty string in its place, and its column `contents` says where
in the row which one belongs: `[place, id, place, id, …]`. Putting them back gives the JSON as it was, to the letter.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec

from quintet.domain.base.lazy_regex import regex

LONG = 400  # characters from which on a string is stored apart: what a reference costs is a tenth of it
LEVEL = 2  # of compression: a third of the time that the usual one takes, for an eighth more room
MEMORY = 7  # for it, a step less than usual: to make that ready took longer than most texts do, and saved no room
KEPT = 64  # texts that a reader remembers: the events of one call lie close together
KEPT_LENGTH = 100_000  # and the longest of them
_STRING = regex(r'"((?:[^"\\]++|\\.)*+)"')
_places = msgspec.json.Decoder(list[int]).decode
_encode = msgspec.json.Encoder().encode


class BrokenContent(Exception):
    """A text that a row refers to is missing or cannot be read."""


class Contents:
    """The table `contents` over one connection."""

    def __init__(self, connection: Any, sql: dict[str, str]) -> None:
        self._connection = connection
        self._sql = sql
        self._kept: OrderedDict[int, str] = OrderedDict()

    def put_aside(self, data: str) -> tuple[str, str | None]:
        """The JSON of an event without its long strings, and where they are; None where there are none."""
        if len(data) <= LONG:
            return data, None
        parts: list[str] = []
        places: list[int] = []
        done = length = 0
        for found in _STRING.finditer(data):
            start, end = found.span(1)
            if end - start > LONG:
                parts.append(data[done:start])
                length += start - done
                places += (length, self._stored(found[1]))
                done = end
        if not places:
            return data, None
        parts.append(data[done:])
        return "".join(parts), _encode(places).decode()

    def _stored(self, text: str) -> int:
        """The number under which a text is stored; one that is there already is not stored again."""
        from hashlib import blake2b  # who only looks stores nothing

        plain = text.encode()
        digest = blake2b(plain, digest_size=16).digest()
        there = self._connection.execute(self._sql["content_by_digest"], (digest,)).fetchall()
        if there:
            return int(str(there[0][0]))
        self._connection.execute(self._sql["add_content"], (digest, _compressed(plain)))
        return int(self._connection.last_insert_rowid())

    def filled_in(self, data: str, places: str) -> str:
        """The JSON of an event as it was, from what a row holds of it."""
        parts: list[str] = []
        done = 0
        numbers = _places(places)
        for place, number in zip(numbers[::2], numbers[1::2], strict=True):
            parts += (data[done:place], self._text(number))
            done = place
        parts.append(data[done:])
        return "".join(parts)

    def _text(self, number: int) -> str:
        if (kept := self._kept.get(number)) is not None:
            self._kept.move_to_end(number)
            return kept
        found: Sequence[Any] = self._connection.execute(self._sql["content_by_number"], (number,)).fetchall()
        if not found:
            raise BrokenContent(f"its content {number} is missing")
        try:
            text = zlib.decompress(found[0][0]).decode()
        except zlib.error as error:
            raise BrokenContent(f"its content {number}: {error}") from error
        if len(text) <= KEPT_LENGTH:
            self._kept[number] = text
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return text


def _compressed(plain: bytes) -> bytes:
    work = zlib.compressobj(LEVEL, memLevel=MEMORY)
    return work.compress(plain) + work.flush()
