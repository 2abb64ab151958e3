"""Open hostile repositories on every surface, with a hostile model, and look for anything that got out.

python tests/faults/campaign_escape.py [--count 2000] [--seed 1] [--jobs N] [--only SEED] [--surface S] [--sandbox KIND]

Each repository is made from its seed (see tests/attacks/): links, git's configurations, agents' files, programs, names.
--only SEED runs one again and says all that it did. Exit 1 when anything outside was touched, read, reached or run.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.attacks.escapes import SURFACES, Result, run
from tests.attacks.hatchery import hatchery, me, somebody

PROGRESS_SECONDS = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/faults escape", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000, metavar="N", help="repositories (2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first one (1)")
    parser.add_argument("--only", type=int, default=None, metavar="SEED", help="this one, and say all that it did")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="at once (every core)")
    parser.add_argument("--surface", choices=SURFACES, default="", help="all of them on this one")
    parser.add_argument("--sandbox", choices=("bwrap", "partial", "none"), default="", help="all of them in this one")
    parser.add_argument("--user", choices=("root", "user"), default=me().name, help="with whose rights")
    wanted = parser.parse_args()
    if wanted.user == "user" and isinstance(why := somebody(), str):
        parser.error(why)
    seeds = [wanted.only] if wanted.only is not None else list(range(wanted.seed, wanted.seed + wanted.count))
    began, results = time.monotonic(), []
    for result in _results(seeds, wanted):
        results.append(result)
        for line in result.findings:
            print(
                f"FOUND, --only {result.seed} ({result.surface}, {result.sandbox}; {result.about}): {line}", flush=True
            )
        if wanted.only is not None:
            print(f"{result.about}\n{result.texts}")
    bad = [result for result in results if result.findings]
    for surface, number in Counter(result.surface for result in results).items():
        print(f"{surface:>10}: {number} repositories, {sum(one.surface == surface for one in bad)} with findings")
    made, allowed = sum(one.made for one in results), sum(one.allowed for one in results)
    print(
        f"escape: {len(results)} hostile repositories, {made} calls decided ({allowed} allowed), "
        f"{len(bad)} with findings ({time.monotonic() - began:.0f} s)"
    )
    return 1 if bad else 0


def _results(seeds: list[int], wanted: argparse.Namespace) -> Iterator[Result]:
    if len(seeds) == 1:
        yield _case(seeds[0], wanted.user, wanted.surface, wanted.sandbox)
        return
    said = time.monotonic()
    with ProcessPoolExecutor(wanted.jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_case, seed, wanted.user, wanted.surface, wanted.sandbox) for seed in seeds]
        for number, future in enumerate(as_completed(futures), 1):
            yield future.result()
            if time.monotonic() - said > PROGRESS_SECONDS or number == len(seeds):
                said = time.monotonic()
                print(f"escape: {number} of {len(seeds)}", flush=True)


def _case(seed: int, user: str, surface: str, sandbox: str) -> Result:
    return run(seed, hatchery(user), surface, sandbox)


if __name__ == "__main__":
    sys.exit(main())
