"""Rows: lines of text with roles, fitted to a width. A role names what a piece is; the theme decides its colour.

Nothing that comes in can leave a row: control characters are made visible, tabs become spaces, and a line too long to
be read is cut with a word on how much was left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, get_character_cell_size

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import JOINERS, visible

Span = tuple[str, str]  # text, and its roles with spaces between
Row = tuple[Span, ...]

MOST_CHARACTERS = 8_000  # of one line
TAB = 4
_WORDS = regex(r"\s*\S+|\s+$")
_ITEMS = regex(r"\s*\S.*?(?: ·(?= )|$)|\s+$")


def clean(text: str) -> str:
    """One line as it may be shown."""
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]} … {len(text) - MOST_CHARACTERS} more characters"
    text = visible(text.expandtabs(TAB) if "\t" in text else text).replace("\n", "␊")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else " " for c in text)  # rare kinds of space


def lines_of(text: str) -> list[str]:
    """The lines of a text, each as it may be shown; only line feeds end one."""
    return [clean(line) for line in text.replace("\r\n", "\n").split("\n")]


def plain(row: Iterable[Span]) -> str:
    return "".join(text for text, _ in row)


def wrap(spans: Sequence[Span], width: int, hang: str = "") -> list[Row]:
    """The spans as rows of at most `width` cells, later ones behind `hang`.

    They are broken between the items of a list with ` · `, or else at spaces, where they can be.
    """
    text = plain(spans)
    if cell_len(text) <= width:
        return [tuple(spans)]
    hang = hang if cell_len(hang) * 2 < width else ""
    rows: list[Row] = []
    for number, (start, end) in enumerate(_pieces(text, max(width, 1), cell_len(hang))):
        row = _cut(spans, start, end)
        rows.append(((hang, ""), *row) if number and hang else row)
    return rows


def wrap_anywhere(span: Span, width: int, hang: str = "") -> list[Row]:
    """A span as rows that are broken where they are full, so that every space of it can be seen."""
    text, role = span
    hang = hang if cell_len(hang) * 2 < width else ""
    rows: list[Row] = []
    start, used, room = 0, 0, max(width, 1)
    for at, character in enumerate(text):
        cells = get_character_cell_size(character)
        if used + cells > room and at > start:
            rows.append(_behind(hang if rows else "", text[start:at], role))
            start, used, room = at, 0, max(width - cell_len(hang), 1)
        used += cells
    return [*rows, _behind(hang if rows else "", text[start:], role)]


def _behind(hang: str, text: str, role: str) -> Row:
    return ((hang, ""), (text, role)) if hang else ((text, role),)


def side_by_side(items: Sequence[Sequence[Span]], width: int, gap: str) -> list[Row]:
    """Items one after the other, as many in a row as fit; one that is too long for a row is wrapped."""
    rows: list[Row] = []
    for item in items:
        longer = (*rows[-1], (gap, "dim"), *item) if rows else tuple(item)
        if rows and cell_len(plain(longer)) <= width:
            rows[-1] = longer
        else:
            rows += wrap(item, width)
    return rows


def _pieces(text: str, width: int, hang: int) -> list[tuple[int, int]]:
    """Where each row begins and ends in the text; the space at a break belongs to neither."""
    pieces: list[tuple[int, int]] = []
    start = end = 0
    used = 0
    room = width
    for match in _unbroken(text, width - hang):
        cells = cell_len(match[0])
        if used + cells <= room:
            used, end = used + cells, match.end()
            continue
        if end > start:
            pieces.append((start, end))
            room = width - hang
            start = end = match.end() - len(match[0].lstrip())
            used, cells = 0, cell_len(text[start : match.end()])
        while cells > room:  # a word longer than a row
            cut = start + _fitting(text[start : match.end()], room)
            pieces.append((start, cut))
            start, room = cut, width - hang
            cells = cell_len(text[start : match.end()])
        used, end = cells, match.end()
    if end > start:
        pieces.append((start, end))
    return pieces


def _unbroken(text: str, room: int) -> Iterator[re.Match[str]]:
    """What stays in one row: the items of a list that fit into one, and words elsewhere."""
    for item in _ITEMS.finditer(text):
        if cell_len(item[0].strip()) <= room:
            yield item
        else:
            yield from _WORDS.finditer(text, item.start(), item.end())


def _fitting(text: str, room: int) -> int:
    """How many characters fit, at least one."""
    used = 0
    for number, character in enumerate(text):
        used += get_character_cell_size(character)
        if used > room:
            return max(number, 1)
    return len(text)


def _cut(spans: Sequence[Span], start: int, end: int) -> Row:
    out: list[Span] = []
    at = 0
    for text, role in spans:
        piece = text[max(start - at, 0) : max(end - at, 0)]
        if piece:
            out.append((piece, role))
        at += len(text)
        if at >= end:
            break
    return tuple(out)


def fitted(text: str, width: int) -> str:
    """The text, cut to `width` cells with an ellipsis where it is longer."""
    if cell_len(text) <= width:
        return text
    return text[: _fitting(text, max(width - 1, 1))] + "…" if width > 1 else text[:width]
