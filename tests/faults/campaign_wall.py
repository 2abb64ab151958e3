"""The second wall alone: every attack of the corpus, run for real behind bubblewrap, on a field of canaries.

python tests/faults/campaign_wall.py [--every N] [--kept]; with --kept the walls stay up between commands. Exit 1 when a
line reached anything.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.faults.second_wall import assault, attacks


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/faults wall", description="Attack the sandbox with the whole corpus."
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th line")
    parser.add_argument("--kept", action="store_true", help="attack kept walls")
    arguments = parser.parse_args()
    lines = attacks()[:: arguments.every]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="quintet-wall-") as folder:
        reached = assault(Path(folder), lines, kept=arguments.kept)
    print(f"{len(lines)} attacks run, {len(reached)} reached something, {time.monotonic() - began:.0f} s")
    for line in reached:
        print(f"  {line}")
    return 1 if reached else 0


if __name__ == "__main__":
    sys.exit(main())
