"""Crash a scripted session at many moments, by kill -9 and by power cut, and check what is left.

python tests/faults/campaign_crash.py [--kills 200] [--cuts 200] [--seed 1] [--jobs N] [--short]

Each power cut is tried twice: with every write after the last sync lost, and with some of them on the disk, torn at
sector bounds. Exit 1 when any promise was broken; the folder of such a case is kept.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

from crash_runs import Killed, kill, record, recover_image

PROGRESS_SECONDS = 5.0
Result = TypeVar("Result")
Case = tuple[str, str]  # its name and its folder


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="processes to kill (200)")
    parser.add_argument("--cuts", type=int, default=200, metavar="N", help="moments to cut the power at (200)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="at once (every core)")
    parser.add_argument("--short", action="store_true", help="kill a shorter session, which is recovered sooner")
    wanted = parser.parse_args()
    began = time.monotonic()
    home = tempfile.mkdtemp(prefix="quintet-crash-")
    os.environ |= {"HOME": home, "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config"}
    with ProcessPoolExecutor(wanted.jobs, mp_context=get_context("spawn")) as pool:
        broken = _cuts(pool, wanted.cuts, random.Random(wanted.seed), f"{home}/cuts")
        killed = _kills(
            pool,
            wanted.kills,
            wanted.jobs,
            random.Random(wanted.seed),
            f"{home}/kills",
            "short" if wanted.short else "",
        )
    broken += sum(bool(one.broken) for one in killed)
    alive, in_call = sum(one.alive for one in killed), sum(one.in_call for one in killed)
    if not broken:
        shutil.rmtree(home)
    verdict = f"{broken} cases broke a promise; see {home}" if broken else "no promise broken"
    print(
        f"crash: {len(killed)} kills ({alive} before the session's own end, {in_call} while a tool ran), "
        f"{wanted.cuts} power cuts, each plain and torn: {verdict} ({time.monotonic() - began:.0f} s)"
    )
    return 1 if broken else 0


def _cuts(pool: ProcessPoolExecutor, count: int, dice: random.Random, folder: str) -> int:
    if not count:
        return 0
    recording = record(folder)
    print(f"recorded {len(recording.log.entries)} disk operations and reports, {len(recording.whole)} events")
    futures: dict[Future[list[str]], Case] = {}
    for at in recording.cuts(count, dice):
        for kind, luck in (("plain", None), ("torn", dice)):
            place = f"{folder}/{kind}-{at}"
            image = recording.log.image(at, luck)
            futures[pool.submit(recover_image, image, recording.witness(at), recording.whole, place)] = (
                f"power cut behind entry {at}, {kind}",
                place,
            )
    return sum(_judged(case, future.result()) for case, future in _as_they_end(futures, "power cuts"))


def _kills(
    pool: ProcessPoolExecutor, count: int, jobs: int, dice: random.Random, folder: str, length: str
) -> list[Killed]:
    if not count:
        return []
    left_alone = [pool.submit(kill, f"{folder}/whole-{job}", None, length) for job in range(jobs)]
    longest = max(future.result().seconds for future in left_alone)
    print(f"{jobs} at once and left alone, a session takes {longest:.2f} s")
    futures: dict[Future[Killed], Case] = {}
    for number in range(count):
        after = (number + dice.random()) / count * longest
        place = f"{folder}/{number}"
        futures[pool.submit(kill, place, after, length)] = (f"kill -9 after {after:.3f} s", place)
    killed = []
    for case, future in _as_they_end(futures, "kills"):
        killed.append(future.result())
        _judged(case, killed[-1].broken)
    return killed


def _as_they_end(futures: dict[Future[Result], Case], what: str) -> Iterator[tuple[Case, Future[Result]]]:
    said = time.monotonic()
    for number, future in enumerate(as_completed(futures), 1):
        yield futures[future], future
        if time.monotonic() - said > PROGRESS_SECONDS or number == len(futures):
            said = time.monotonic()
            print(f"{what}: {number} of {len(futures)}", flush=True)


def _judged(case: Case, broken: list[str]) -> int:
    name, folder = case
    for line in broken:
        print(f"BROKEN, {name}: {line}", flush=True)
    if not broken:
        shutil.rmtree(folder)
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
