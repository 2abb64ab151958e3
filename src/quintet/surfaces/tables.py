"""Aligned tables and JSON on stdout, for the commands that look something up."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from quintet.domain.visible import visible


def say(lines: Iterable[str]) -> None:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.stdout.write("".join(f"{visible(line)}\n" for line in lines))


def say_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n")


def table(rows: Sequence[Sequence[str]], *, heading: Sequence[str] = ()) -> list[str]:
    """Rows with their columns aligned; the last column runs free."""
    every = [heading, *rows] if heading and rows else list(rows)
    if not every:
        return []
    widths = [max(len(row[column]) for row in every) for column in range(len(every[0]) - 1)]
    return ["  ".join([*(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=False)), row[-1]]) for row in every]
