"""8 processes send inputs to one session while its owner is killed, stopped and continued at random.

scripts/faults owners [--inputs 500] [--senders 8] [--stall 120] [--seed 1]. Exit 1 if an input was not run once, a
client's exit code is not what the journal says, or no input came to an end for --stall seconds.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.faults.owners import Owners


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=500)
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument("--stall", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = os.path.join(folder, name.lower())
            os.mkdir(os.environ[name])
        root = Path(folder, "project")
        root.mkdir()
        began = time.monotonic()
        outcome = Owners(root, chosen.inputs, chosen.senders, chosen.seed, chosen.stall).run()
    said = ", ".join(f"{count} {status}" for status, count in sorted(outcome.statuses.items()))
    sys.stdout.write(
        f"{len(outcome.codes)} inputs: {said}; {outcome.kills} kills, {outcome.stops} stops; "
        f"{len(outcome.problems)} problems; {time.monotonic() - began:.0f} s\n"
    )
    sys.stdout.writelines(f"  {problem}\n" for problem in outcome.problems)
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
