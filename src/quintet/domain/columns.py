"""Rows as lines of text with their columns aligned, for every listing."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table(
    rows: Sequence[Sequence[str]],
    *,
    heading: Sequence[str] = (),
    right: Collection[int] = (),
    least: Sequence[int] = (),
) -> list[str]:
    """Rows with their columns aligned, those in `right` to the right; a last column that is not runs free.

    `least` are widths that columns have at any rate, so that rows printed one at a time stand below each other.
    """
    every = [heading, *rows] if heading and rows else list(rows)
    if not every:
        return []
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    if least:
        widths = [max(pair) for pair in zip(widths, least, strict=True)]
    if len(widths) - 1 not in right:
        widths[-1] = 0
    return ["  ".join(_cells(row, widths, right)) for row in every]


def _cells(row: Sequence[str], widths: Sequence[int], right: Collection[int]) -> list[str]:
    return [
        cell.rjust(width) if column in right else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
