"""Turn dials, accept, pause, refuse, kill and resume at random, and check that every task stays what it is.

python tests/faults/campaign_dials.py [--runs 200] [--seed N] [--jobs N]

Each run is one project that lives through five processes (`dial_lives.py`). No task may be lost, done without evidence,
or retried for a refusal, and ends have to be true. Exit 1 when a promise was broken; the folder of such a run is kept.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from cycle_checks import project

LIVES = Path(__file__).parent / "dial_lives.py"
ROOT = Path(__file__).parents[2]
SECONDS = 600.0
PROGRESS_SECONDS = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/faults dials", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="projects (200)")
    parser.add_argument("--seed", type=int, help="of the first run; the next ones count on from it (a fresh one)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="at once (every core)")
    wanted = parser.parse_args()
    first = random.SystemRandom().randrange(2**31) if wanted.seed is None else wanted.seed
    began, said, bad = time.monotonic(), time.monotonic(), 0
    home = Path(tempfile.mkdtemp(prefix="quintet-dials-"))
    with ThreadPoolExecutor(wanted.jobs) as pool:
        runs = [pool.submit(run, home / str(seed), seed) for seed in range(first, first + wanted.runs)]
        for number, done in enumerate(as_completed(runs), 1):
            broken = done.result()
            bad += bool(broken)
            for line in broken:
                print(f"BROKEN, {line}", flush=True)
            if time.monotonic() - said > PROGRESS_SECONDS:
                said = time.monotonic()
                print(f"runs: {number} of {len(runs)}", flush=True)
    if not bad:
        shutil.rmtree(home)
    verdict = f"{bad} broke a promise; see {home}" if bad else "no promise broken"
    print(f"dials: {wanted.runs} runs from seed {first}: {verdict} ({time.monotonic() - began:.0f} s)")
    return 1 if bad else 0


def run(place: Path, seed: int) -> list[str]:
    """One project in a home of its own; what it broke."""
    folder = project(place / "project")
    own = {"HOME": str(place), "XDG_STATE_HOME": str(place / "state"), "XDG_CONFIG_HOME": str(place / "config")}
    done = subprocess.run(
        [sys.executable, str(LIVES), str(folder), str(seed)],
        cwd=ROOT,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode == 0:
        shutil.rmtree(place)
        return []
    return done.stdout.splitlines() or [f"seed {seed}: ended with {done.returncode}: {done.stderr[-500:]}"]


if __name__ == "__main__":
    sys.exit(main())
