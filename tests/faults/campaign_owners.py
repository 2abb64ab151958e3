"""8 processes send inputs to one session while its owner is killed, stopped and continued at random.

scripts/faults owners [--inputs 500] [--senders 8] [--seconds 1800] [--seed 1]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from owners import Owners


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=60)
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = os.path.join(folder, name.lower())
            os.mkdir(os.environ[name])
        root = Path(folder, "project")
        root.mkdir()
        outcome = Owners(root, chosen.inputs, chosen.senders, chosen.seed, chosen.seconds).run()
    said = ", ".join(f"{count} {status}" for status, count in sorted(outcome.statuses.items()))
    sys.stdout.write(
        f"{len(outcome.codes)} inputs: {said}; {outcome.kills} kills, {outcome.stops} stops; "
        f"{len(outcome.problems)} problems, {outcome.unsent} inputs not sent in time\n"
    )
    sys.stdout.writelines(f"  {problem}\n" for problem in outcome.problems)
    return 1 if outcome.problems or outcome.unsent else 0


if __name__ == "__main__":
    sys.exit(main())
