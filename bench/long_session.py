"""Whether a session of many hours stays as quick and as small as it began: its steps, late beside early.

python bench/long_session.py [--steps 20000] [--folder DIR] [--json]. One session of the engine with a model that works
like a coding agent, a turn of a hundred steps after the other; the conversation is summarised as it grows. Time is CPU
time of the process without its children; of each tenth the mean, and the median of its turns. Memory is what the
process holds at the end of each tenth.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from statistics import median
from typing import Any

from _table import measured_in_a_folder, table, verdict
from _worker import SETTINGS, Worker, make_project

import quintet
from quintet.adapters.files.paths import locate
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal.protocol import TurnFinished

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
STEPS_OF_A_TURN = 100
PARTS = 10
TIME_TARGET, MEMORY_TARGET = 1.2, 1.2


def main() -> int:
    return measured_in_a_folder(__doc__, _measure, _text, steps=(20_000, "of the session"))


async def _measure(folder: str, steps: int) -> dict[str, Any]:
    root = os.path.join(folder, "project")
    os.environ |= {"XDG_STATE_HOME": os.path.join(folder, "state"), "XDG_CONFIG_HOME": folder}
    worker = Worker(root, make_project(root), STEPS_OF_A_TURN)
    parts: list[dict[str, float]] = []
    turns = max(steps // STEPS_OF_A_TURN // PARTS, 1)
    async with quintet.open(root, model=worker, axes=BUILD, settings=SETTINGS) as session:
        seq = 0
        for part in range(PARTS):
            cpu, wall = [], time.perf_counter()
            for turn in range(turns):
                began = time.process_time()
                submission = await session.say(f"Part {part}.{turn}: continue with the next files.")
                followed = session.follow(submission, after=seq)
                async for item in followed:
                    seq = getattr(item, "seq", seq)
                ended = followed.outcome.event
                assert isinstance(ended, TurnFinished) and ended.status == "done", ended
                cpu.append(time.process_time() - began)
            done = turns * STEPS_OF_A_TURN
            parts.append(
                {
                    "steps": done * (part + 1),
                    "cpu_ms": round(sum(cpu) / done * 1000, 3),
                    "median_ms": round(median(cpu) / STEPS_OF_A_TURN * 1000, 3),
                    "wall_ms": round((time.perf_counter() - wall) / done * 1000, 3),
                    "memory_mb": round(_memory() / 1e6, 1),
                }
            )
            print(parts[-1], file=sys.stderr)
    early, late = parts[1], parts[-1]  # the first part also warms up and fills the first window
    return {
        "parts": parts,
        "time_ratio": round(late["median_ms"] / early["median_ms"], 2),
        "memory_ratio": round(late["memory_mb"] / early["memory_mb"], 2),
        "store_mb": round(os.path.getsize(locate(root).database) / 1e6, 1),
    }


def _memory() -> int:
    """Bytes of memory that the process holds."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def _text(figures: dict[str, Any]) -> str:
    rows = [
        [f"{part['steps']}", f"{part['cpu_ms']:.2f}", f"{part['median_ms']:.2f}", f"{part['memory_mb']:.0f}"]
        for part in figures["parts"]
    ]
    parts = table(["steps", "CPU ms a step", "median", "MB"], rows)
    ratios = table(
        ["last tenth beside the second", "ratio", "target", ""],
        [
            _ratio("time of a step", figures["time_ratio"], TIME_TARGET),
            _ratio("memory", figures["memory_ratio"], MEMORY_TARGET),
        ],
    )
    return f"{parts}\n\n{ratios}\n\nstate.db {figures['store_mb']:.1f} MB"


def _ratio(name: str, ratio: float, target: float) -> list[str]:
    return [name, f"{ratio:.2f}", f"≤ {target:g}", verdict(ratio <= target)]


if __name__ == "__main__":
    sys.exit(main())
