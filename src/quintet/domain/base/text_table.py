"""Rows as lines of text with their columns aligned, for every listing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from unicodedata import combining, east_asian_width

GAP = "  "
LEAST_ROOM = 24  # for a last column that is folded; with less, the terminal may cut it as it likes


def table(
    rows: Sequence[Sequence[str]],
    *,
    heading: Sequence[str] = (),
    right: Collection[int] = (),
    least: Sequence[int] = (),
    room: int = 0,
) -> list[str]:
    """Rows with their columns aligned, those in `right` to the right; a last column that is not runs free.

    `least` are widths that columns have at any rate, so that rows printed one at a time stand below each other. With
    `room`, the cells that a line may have, a last column that runs free goes on below itself.
    """
    every = [heading, *rows] if heading and rows else list(rows)
    if not every:
        return []
    columns = list(zip(*every, strict=True))
    widths = [_width(column) for column in columns]
    if least:
        widths = [max(pair) for pair in zip(widths, least, strict=True)]
    free = len(widths) - 1 not in right
    before = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    if free:
        widths[-1] = 0
    padded = [_padded(column, widths[n], n in right) for n, column in enumerate(columns)]
    if not free or room - before < LEAST_ROOM:
        return [GAP.join(row).rstrip() for row in zip(*padded, strict=True)]
    below = "\n" + " " * before
    padded[-1] = [below.join(folded(cell, room - before)) for cell in columns[-1]]
    return [line.rstrip() for row in zip(*padded, strict=True) for line in GAP.join(row).split("\n")]


def cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _width(column: Sequence[str]) -> int:
    return max(map(len if "".join(column).isascii() else cells, column))


def _padded(column: Sequence[str], width: int, right: bool) -> list[str]:
    if "".join(column).isascii():
        return [cell.rjust(width) for cell in column] if right else [cell.ljust(width) for cell in column]
    paddings = [" " * (width - cells(cell)) for cell in column]
    return [pad + cell if right else cell + pad for pad, cell in zip(paddings, column, strict=True)]


def folded(text: str, room: int) -> Iterable[str]:
    """The text in lines of at most so many cells, broken between words; a word that is longer stays whole."""
    if cells(text) <= room:
        return [text]
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cells(longer) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
