"""Kill a cycle of ten tasks at many moments, let it go on, and check what is left.

python tests/faults/campaign_cycle.py [--kills 100] [--seed 1] [--jobs N]

Each kill is one cycle of its own, killed behind one of its durable writes and taken up again to its end: no task may be
lost, none begun while it is at work, what is done has to stay done, and the end has to be that of a cycle left alone.
Exit 1 when a promise was broken; the folder of such a case is kept.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from cycle_checks import broken, follow, outcome, project, writes_of

PROGRESS_SECONDS = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="cycles to kill (100)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="at once (every core)")
    wanted = parser.parse_args()
    began, home = time.monotonic(), tempfile.mkdtemp(prefix="quintet-cycle-")
    os.environ |= {"HOME": home, "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config"}
    whole = project(Path(home, "whole"))
    most = writes_of(whole)
    if broken(whole):
        print(f"a cycle left alone did not end well; see {home}")
        return 1
    expected = outcome(whole)
    print(f"a cycle of ten tasks makes {most} durable writes", flush=True)
    dice = random.Random(wanted.seed)
    with ProcessPoolExecutor(wanted.jobs, mp_context=get_context("spawn")) as pool:
        futures: dict[Future[list[str]], str] = {}
        for number in range(wanted.kills):
            behind = 1 + int((number + dice.random()) / wanted.kills * most)
            futures[pool.submit(killed, f"{home}/{number}", behind, expected)] = f"kill -9 behind write {behind}"
        bad = _judged(futures)
    if not bad:
        shutil.rmtree(home)
    verdict = f"{bad} cases broke a promise; see {home}" if bad else "no promise broken"
    print(f"cycle: {wanted.kills} kills, each taken up to its end: {verdict} ({time.monotonic() - began:.0f} s)")
    return 1 if bad else 0


def killed(place: str, behind: int, expected: tuple[object, ...]) -> list[str]:
    """One cycle, killed and taken up again; what it broke."""
    folder = project(Path(place))
    code = follow(folder, behind)
    if code not in (0, -signal.SIGKILL):
        return [f"it ended with {code}"]
    if code and (again := follow(folder)) != 0:
        return [f"taken up again it ended with {again}"]
    wrong = broken(folder)
    if outcome(folder) != expected:
        wrong.append(f"it left {outcome(folder)} instead of {expected}")
    return wrong


def _judged(futures: dict[Future[list[str]], str]) -> int:
    bad, said = 0, time.monotonic()
    for number, future in enumerate(as_completed(futures), 1):
        for line in (wrong := future.result()):
            print(f"BROKEN, {futures[future]}: {line}", flush=True)
        bad += bool(wrong)
        if time.monotonic() - said > PROGRESS_SECONDS or number == len(futures):
            said = time.monotonic()
            print(f"kills: {number} of {len(futures)}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
