"""CPU time that starting Quintet takes, next to starting Python and doing nothing.

python bench/startup.py [--runs 21] [--json]. User and system time of each command, in turns, in a small git project
with one session. The ratio is of medians, to `python -c pass` of the same environment in the same run.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from statistics import median

from _table import say, table, verdict

BIN = os.path.dirname(sys.executable)
QUINTET = os.path.join(BIN, "quintet")
REFERENCE = "python -c pass"
COMMANDS = {
    REFERENCE: [sys.executable, "-c", "pass"],
    "quintet --version": [QUINTET, "--version"],
    "quintet status --json": [QUINTET, "status", "--json"],
    "quintet --help": [QUINTET, "--help"],
}
TARGETS = {"quintet --version": 2.5, "quintet status --json": 8.0}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=21, metavar="N", help="of each command (21)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        times = _measure(folder, max(wanted.runs, 1))
    _show(times, wanted.json)
    return 0


def _measure(folder: str, runs: int) -> dict[str, list[float]]:
    """Seconds of CPU for each run of each command; the first round only warms the caches."""
    project = os.path.join(folder, "project")
    os.mkdir(project)
    environment = {
        "PATH": f"{BIN}:{os.environ.get('PATH', os.defpath)}",
        "HOME": folder,
        "XDG_STATE_HOME": os.path.join(folder, "state"),
        "XDG_CONFIG_HOME": os.path.join(folder, "config"),
    }
    for words in (["git", "init", "-q"], [QUINTET, "-p", "git status"]):
        subprocess.run(words, cwd=project, env=environment, check=True, capture_output=True)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for round_number in range(runs + 1):
        for name, words in COMMANDS.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(words, cwd=project, env=environment, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if round_number:
                times[name].append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return times


def _show(times: dict[str, list[float]], as_json: bool) -> None:
    reference = median(times[REFERENCE])
    figures = []
    for name, seconds in times.items():
        target = TARGETS.get(name)
        ratio = median(seconds) / reference
        figures.append(
            {
                "command": name,
                "median_ms": round(median(seconds) * 1000, 1),
                "best_ms": round(min(seconds) * 1000, 1),
                "ratio": round(ratio, 2),
                "target": target,
                "met": None if target is None else ratio <= target,
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
    runs = len(times[REFERENCE])
    text = table(["command", "CPU ms", "best", "ratio", "target", ""], rows)
    say(f"{text}\n\nuser + system, median of {runs} runs in turns", {"runs": runs, "commands": figures}, as_json)


if __name__ == "__main__":
    sys.exit(main())
