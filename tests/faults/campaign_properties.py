"""Every test of a property, with fresh random examples and many of them; the suite has the same few each time.

python tests/faults/campaign_properties.py [--seconds N] [--examples N] [--seed N] [PYTEST ARGS…]. Round after round,
each with a seed of its own, until the time is over; a round that has begun is brought to its end. Of a failure pytest's
report is printed, with the example, the line that makes a test begin with it, and the seed. Exit 1 when one was found.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_TESTS = 5


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/faults properties", description="Try every property on fresh random examples."
    )
    parser.add_argument("--seconds", type=float, default=600, metavar="N", help="how long rounds are begun (600)")
    parser.add_argument("--examples", type=int, default=1000, metavar="N", help="of each test in a round (1000)")
    parser.add_argument("--seed", type=int, help="of the first round, to see it again; the next ones count on from it")
    wanted, more = parser.parse_known_args()
    seed = random.SystemRandom().randrange(2**31) if wanted.seed is None else wanted.seed
    began, failed, rounds = time.monotonic(), [], 0
    while not rounds or time.monotonic() - began < wanted.seconds:
        if not _holds(seed + rounds, wanted.examples, more):
            failed.append(seed + rounds)
        rounds += 1
    spent = f"{rounds} rounds of {wanted.examples} examples a test, {time.monotonic() - began:.0f} s"
    print(f"{spent}; seeds that failed: {', '.join(map(str, failed)) or 'none'}")
    return 1 if failed else 0


def _holds(seed: int, examples: int, more: list[str]) -> bool:
    words = ("-m", "hypothesis", "-p", "no:xdist", "-n", "2", f"--hypothesis-seed={seed}", *more)
    environment = {**os.environ, "QUINTET_TEST_EXAMPLES": str(examples)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode == NO_TESTS:
        sys.exit("no test of a property is there")
    if done.returncode:
        print(f"seed {seed}:\n{done.stdout}{done.stderr}", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
