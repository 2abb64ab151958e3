"""How long `@` takes on a tree of many files: from the end of the debounce to the results, next to listing the tree.

python bench/file_finder.py [--files 100000] [--rounds 40] [--json]. The reference is one `rg --files` of the same tree.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

from _table import say, table, verdict

from quintet.adapters.files.file_finder import ProjectFinder
from quintet.app.machine_parts import find_ripgrep

TARGET = 0.060  # seconds, at the 95th percentile
PER_FOLDER = 100
MOST = 8
WORDS = ("export", "import", "parse", "model", "view", "session", "prompt", "engine", "domain", "report")
QUERIES = ("", "e", "exp", "model_view", "prompt77", "domain/e5", "sespro", "zzzz")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=100_000, metavar="N", help="files in the tree (100000)")
    parser.add_argument("--rounds", type=int, default=40, metavar="N", help="times each query is run (40)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as root:
        _plant(root, wanted.files)
        figures = asyncio.run(_measured(root, wanted.rounds))
    listing = figures["rg --files"]["p50"]
    rows = [
        (
            name,
            f"{f['p50'] * 1e3:.1f} ms",
            f"{f['p95'] * 1e3:.1f} ms",
            f"{f['p50'] / listing:.2f} ×",
            verdict(f["p95"] <= TARGET) if f["held"] else "-",
        )
        for name, f in figures.items()
    ]
    heading = (f"{wanted.files} files", "median", "p95", "of rg --files", f"p95 ≤ {TARGET * 1e3:.0f} ms")
    say(table(heading, rows), figures, wanted.json)
    return 0


def _plant(root: str, files: int) -> None:
    for number in range(files):
        above = WORDS[number // (PER_FOLDER * 10) % len(WORDS)]
        folder = os.path.join(root, above, f"e{number // PER_FOLDER}")
        if number % PER_FOLDER == 0:
            os.makedirs(folder, exist_ok=True)
        name = f"{WORDS[number % 10]}_{WORDS[number // 10 % 10]}{number}.py"
        with open(os.path.join(folder, name), "w"):
            pass


async def _measured(root: str, rounds: int) -> dict[str, dict[str, Any]]:
    argv = [find_ripgrep(), "--no-config", "--files", "--hidden"]
    figures = {"rg --files": _figure([_timed(argv, root) for _ in range(max(3, rounds // 8))], held=False)}
    cold = []
    for _ in range(3):
        began = time.perf_counter()
        finder = ProjectFinder(root, find_ripgrep())
        await finder.find("exp", MOST)
        cold.append(time.perf_counter() - began)
    figures["the first search, nothing prepared"] = _figure(cold, held=False)
    for query in QUERIES:
        taken = []
        for _ in range(rounds):
            began = time.perf_counter()
            await finder.find(query, MOST)
            taken.append(time.perf_counter() - began)
        figures[f"@{query}"] = _figure(taken, held=True)
    return figures


def _timed(argv: list[str], root: str) -> float:
    began = time.perf_counter()
    subprocess.run(argv, cwd=root, stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - began


def _figure(taken: list[float], *, held: bool) -> dict[str, Any]:
    return {"p50": median(taken), "p95": sorted(taken)[int(len(taken) * 0.95) - 1], "held": held}


if __name__ == "__main__":
    sys.exit(main())
