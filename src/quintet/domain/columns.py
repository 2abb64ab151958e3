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
    columns = [
        [cell.rjust(width) for cell in cells] if column in right else [cell.ljust(width) for cell in cells]
        for column, (cells, width) in enumerate(zip(zip(*every, strict=True), widths, strict=True))
    ]
    return ["  ".join(row) for row in zip(*columns, strict=True)]
