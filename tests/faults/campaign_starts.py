"""Kills processes of Quintet's within milliseconds of the start of a child, in every way in which one is started.

scripts/faults starts [--kills 200] [--milliseconds 20] [--seed 1]; nothing may be left.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.faults.child_starts import WAYS, Starts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--milliseconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = os.path.join(folder, name.lower())
            os.mkdir(os.environ[name])
        root = Path(folder, "project")
        root.mkdir()
        starts = Starts(root)
        for number in range(chosen.kills):
            way, after = WAYS[number % len(WAYS)], chance.uniform(0, chosen.milliseconds)
            if left := starts.killed(way, after):
                problems += 1
                sys.stdout.write(f"  {way}, {after:.1f} ms: {len(left)} left: {left[0]}\n")
    sys.stdout.write(f"{chosen.kills} kills, {problems} left something behind\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
