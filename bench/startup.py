"""CPU time that starting Quintet takes, next to starting Python and doing nothing.

python bench/startup.py [--runs 21] [--against FOLDER] [--json]. User and system time of each command, in turns, in a
small git project with one session. The ratio is of medians, to `python -c pass` of the same environment in the same
run. With --against, the same commands of another tree of the project, in turns with this one's; the ratio of this
tree's to that one's is the last column, to be at most 1.05.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from _table import say, table, verdict

BIN = os.path.dirname(sys.executable)
QUINTET = [os.path.join(BIN, "quintet")]
AS_MODULE = [sys.executable, "-m", "quintet"]  # the entry of a tree from another time may be named otherwise
REFERENCE = "python -c pass"
COMMANDS = {
    "quintet --version": ["--version"],
    "quintet status --json": ["status", "--json"],
    "quintet --help": ["--help"],
}
TARGETS = {"quintet --version": 2.5, "quintet status --json": 8.0}
MOST_TO_BEFORE = 1.05
HERE = Path(__file__).parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=21, metavar="N", help="of each command (21)")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another tree of the project, to compare with")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    if wanted.against and not (wanted.against / "src/quintet").is_dir():
        parser.error(f"{wanted.against} is no tree of the project: it has no src/quintet")
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        trees = [_Tree(HERE, Path(folder, "here"), AS_MODULE if wanted.against else QUINTET)]
        if wanted.against:
            trees.append(_Tree(wanted.against, Path(folder, "before"), AS_MODULE))
        _measure(trees, max(wanted.runs, 1))
    _show(trees, wanted.json)
    return 0


class _Tree:
    """One tree's commands, with a home and a project of their own."""

    def __init__(self, root: Path, home: Path, program: list[str]) -> None:
        self.commands = {
            REFERENCE: [sys.executable, "-c", "pass"],
            **{name: [*program, *words] for name, words in COMMANDS.items()},
        }
        self.project = home / "project"
        self.project.mkdir(parents=True)
        self.environment = {
            "PATH": f"{BIN}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "PYTHONPATH": str(root.resolve() / "src"),
        }
        for words in (["git", "init", "-q"], [*program, "-p", "git status"]):
            self.seconds(words)
        self.times: dict[str, list[float]] = {name: [] for name in self.commands}

    def seconds(self, words: list[str]) -> float:
        """Of CPU that a command takes."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, cwd=self.project, env=self.environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    def median(self, name: str) -> float:
        return median(self.times[name])


def _measure(trees: list[_Tree], runs: int) -> None:
    """Each command in each tree, in turns; the first round only warms the caches."""
    for round_number in range(runs + 1):
        for name in trees[0].commands:
            for tree in trees if round_number % 2 else reversed(trees):
                seconds = tree.seconds(tree.commands[name])
                if round_number:
                    tree.times[name].append(seconds)


def _show(trees: list[_Tree], as_json: bool) -> None:
    ours = trees[0]
    figures: list[dict[str, Any]] = []
    for name, seconds in ours.times.items():
        target = TARGETS.get(name)
        ratio = ours.median(name) / ours.median(REFERENCE)
        to_before = ours.median(name) / trees[1].median(name) if trees[1:] else None
        figures.append(
            {
                "command": name,
                "median_ms": round(ours.median(name) * 1000, 1),
                "best_ms": round(min(seconds) * 1000, 1),
                "ratio": round(ratio, 2),
                "target": target,
                "met": None if target is None else ratio <= target,
                "to_before": None if to_before is None else round(to_before, 3),
            }
        )
    rows = [
        [
            str(figure["command"]),
            f"{figure['median_ms']:.1f}",
            f"{figure['best_ms']:.1f}",
            f"{figure['ratio']:.2f}",
            "" if figure["target"] is None else f"≤ {figure['target']:g}",
            "" if figure["met"] is None else verdict(bool(figure["met"])),
        ]
        for figure in figures
    ]
    head = ["command", "CPU ms", "best", "ratio", "target", ""]
    if trees[1:]:
        head += ["to before", f"≤ {MOST_TO_BEFORE}"]
        for row, figure in zip(rows, figures, strict=True):
            row += [f"{figure['to_before']:.3f}", verdict(figure["to_before"] <= MOST_TO_BEFORE)]
    runs = len(ours.times[REFERENCE])
    text = table(head, rows)
    say(f"{text}\n\nuser + system, median of {runs} runs in turns", {"runs": runs, "commands": figures}, as_json)


if __name__ == "__main__":
    sys.exit(main())
