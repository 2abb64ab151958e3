"""Plain aligned tables, and the same as JSON: the first column to the left, the others to the right."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
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


async def seconds_of(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


Figures = dict[str, Any]


def measured_in_a_folder(
    doc: str | None,
    measure: Callable[..., Awaitable[Figures]],
    text: Callable[[Figures], str],
    **counts: tuple[int, str],
) -> int:
    """A bench that works in a folder of its own. Each of `counts` is a flag, with its default and its help."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    for name, (default, help) in counts.items():
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{help} ({default})")
    parser.add_argument("--folder", default=None, metavar="DIR", help="where to work, on the disk to measure")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()

    async def measured(folder: str) -> Figures:
        return await measure(folder, *(getattr(wanted, name) for name in counts))

    with tempfile.TemporaryDirectory(prefix="quintet-bench-", dir=wanted.folder) as folder:
        figures = asyncio.run(measured(folder))
    say(text(figures), figures, wanted.json)
    return 0
