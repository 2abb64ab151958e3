"""Plain aligned tables, and the same as JSON: the first column to the left, the others to the right."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in (header, *rows)) for column in range(len(header))]
    lines = []
    for line in (header, *rows):
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  ".join((first, *others)).rstrip())
    return "\n".join(lines)


def say(text: str, figures: dict[str, Any], as_json: bool) -> None:
    sys.stdout.write(f"{json.dumps(figures, indent=2) if as_json else text}\n")


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"
