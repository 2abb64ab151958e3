"""Fill the disk under a scripted session at random moments, give it room again, and check what is left.

scripts/faults disk [--runs 100] [--seed 1]. The state lies in a file system in memory of its own, in a mount namespace
that nobody else sees, of which so much is taken that the session gets only a random part of what it needs. Exit 1 when
any promise was broken; the cases are printed. Linux; needs unshare and mount.
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

from crash_checks import recover
from crash_runs import killed
from crash_session import make_project

INSIDE = "QUINTET_DISK_CAMPAIGN"
DISK_BYTES = 256_000_000
LEAST_BYTES = 20_000  # that are left free


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100, metavar="N", help="sessions whose disk fills (100)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (1)")
    wanted = parser.parse_args()
    if INSIDE not in os.environ:
        rights = () if os.geteuid() == 0 else ("--user", "--map-root-user")
        argv = ["unshare", *rights, "--mount", "--propagation", "private", sys.executable, *sys.argv]
        return subprocess.run(argv, env={**os.environ, INSIDE: "1"}).returncode
    began, dice, broken, full = time.monotonic(), random.Random(wanted.seed), 0, 0
    home = tempfile.mkdtemp(prefix="quintet-disk-")
    disk = os.path.join(home, "disk")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", disk], check=True)
    os.environ |= {"HOME": home, "XDG_CONFIG_HOME": f"{home}/config"}
    try:
        needed = _one(home, disk, "whole", 0)[2]
        for number in range(wanted.runs):
            free = dice.randrange(LEAST_BYTES, needed)
            problems, ended_early, _ = _one(home, disk, str(number), free)
            broken += bool(problems)
            full += ended_early
            for problem in problems:
                print(f"  {free} bytes free: {problem}")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
        shutil.rmtree(home, ignore_errors=True)
    verdict = f"{broken} cases broke a promise" if broken else "no promise broken"
    print(f"disk: {wanted.runs} runs, {full} ended by a full disk: {verdict} ({time.monotonic() - began:.0f} s)")
    return 1 if broken else 0


def _one(home: str, disk: str, name: str, free: int) -> tuple[list[str], bool, int]:
    """A short session with so many bytes for its state, 0 for all it wants: what is broken, whether it came to its end
    before its time, and how many bytes the state took."""
    state = os.environ["XDG_STATE_HOME"] = os.path.join(disk, name)
    os.mkdir(state)
    ballast = os.path.join(disk, "ballast")
    if free:
        with open(ballast, "wb") as file:
            room = os.statvfs(disk)
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - free)
    project = make_project(os.path.join(home, name))
    witness, _, early = killed(project, None, "short")
    if free:
        os.unlink(ballast)
    room = os.statvfs(disk)
    took = (room.f_blocks - room.f_bfree) * room.f_frsize
    problems = recover(project, witness, os.path.join(home, f"{name}-copy"))
    for path in (state, project, os.path.join(home, f"{name}-copy")):
        shutil.rmtree(path, ignore_errors=True)
    return problems, early, took


if __name__ == "__main__":
    sys.exit(main())
