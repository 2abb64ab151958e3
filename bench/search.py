"""What grep and glob cost as tools, next to the bare ripgrep underneath them, on a tree of many files.

python bench/search.py [--files 100000] [--rounds 15] [--json]. Reference and subject take turns; medians are compared.
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

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.app.machine_parts import find_ripgrep
from quintet.app.open import make_core
from quintet.domain.dials.axes import Axes
from quintet.domain.turn.messages import ToolCall
from quintet.domain.turn.stage_policy import CallContext
from quintet.engine.turn.toolbox import Prepared

TARGET = 1.2
PER_FOLDER = 100
CASES: dict[str, tuple[str, str, list[str]]] = {
    "grep, few matches": ("grep", '{"pattern": "needle"}', ["-l", "-e", "needle", "--", "."]),
    "grep, lines": (
        "grep",
        '{"pattern": "needle", "output_mode": "content"}',
        ["-n", "--no-heading", "--with-filename", "-e", "needle", "--", "."],
    ),
    "glob, few": ("glob", '{"pattern": "**/file_7.py"}', ["--files", "--hidden", "-g", "**/file_7.py", "--", "."]),
    "glob, all": ("glob", '{"pattern": "*.py"}', ["--files", "--hidden", "-g", "*.py", "--", "."]),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=100_000, metavar="N", help="files in the tree (100000)")
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="times each is run (15)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = os.path.join(folder, "state")
        root = os.path.join(folder, "tree")
        _plant(root, wanted.files)
        figures = asyncio.run(_measured(root, wanted.rounds))
    rows = [
        (
            name,
            f"{f['rg'] * 1e3:.1f} ms",
            f"{f['tool'] * 1e3:.1f} ms",
            f"{f['ratio']:.2f} ×",
            verdict(f["ratio"] <= TARGET),
        )
        for name, f in figures.items()
    ]
    heading = (f"{wanted.files} files", "bare rg", "as a tool", "ratio", f"≤ {TARGET} ×")
    say(table(heading, rows), figures, wanted.json)
    return 0


def _plant(root: str, files: int) -> None:
    for number in range(files):
        folder = os.path.join(root, f"d{number // (PER_FOLDER * 10)}", f"e{number // PER_FOLDER}")
        if number % PER_FOLDER == 0:
            os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"file_{number}.py"), "w") as file:
            file.write(f"value = {number}\n" * 5 + ("# a needle in it\n" if number % 5000 == 0 else ""))


async def _measured(root: str, rounds: int) -> dict[str, dict[str, Any]]:
    places = locate(root)
    core = make_core(places, config.load(places))
    context = CallContext(Axes(), "swe")
    figures = {}
    for name, (tool, arguments, words) in CASES.items():
        argv = [find_ripgrep(), "--no-config", "--color=never", *words]
        bare, ours = [], []
        for _ in range(rounds):
            began = time.perf_counter()
            _bare(argv, root)
            bare.append(time.perf_counter() - began)
            began = time.perf_counter()
            prepared = core.turn.toolbox.prepare(ToolCall("c", tool, arguments), context, person=False)
            assert isinstance(prepared, Prepared), prepared
            await core.turn.toolbox.run(prepared, context, person=False, progress=lambda text: None)
            ours.append(time.perf_counter() - began)
        figures[name] = {"rg": median(bare), "tool": median(ours), "ratio": median(ours) / median(bare)}
    return figures


def _bare(argv: list[str], root: str) -> None:
    subprocess.run(argv, cwd=root, stdout=subprocess.PIPE, check=True)


if __name__ == "__main__":
    sys.exit(main())
