"""The processes that run trials: one that dies takes one trial with it, and none outlives who asked."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.surfaces.program import Program

pytestmark = pytest.mark.system("bwrap")
SECONDS = 60.0  # a limit, not a measure
PAGE = 'request = "wait"\nsolution.run = ["{}"]\n[[checks]]\nfile = "a"\ngone = true\n'


def workers_of(parent: int) -> list[int]:
    """The processes below another that run trials."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")
            above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if b"quintet.features.evals.worker" in line and above == parent:
            found.append(int(entry.name))
    return found


def until(what: Callable[[], object]) -> None:
    limit = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < limit, "it did not come to pass"
        time.sleep(0.05)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def suite(folder: Path) -> str:
    folder.mkdir()
    (folder / "long.toml").write_text(PAGE.format("sleep 600"))
    return str(folder)


def begun(folder: Path) -> bool:
    """Whether a trial has its workspace."""
    return any((folder / "state/quintet-evals/mine").glob("long-*/work/.git"))


def test_a_worker_that_is_killed_takes_one_trial_with_it(quintet: Program, tmp_path: Path) -> None:
    child = quintet.start("eval", "run", suite(tmp_path / "mine"), "--model", "script", "--workers", "1")
    until(lambda: workers_of(child.pid) and begun(tmp_path))
    (worker,) = workers_of(child.pid)
    os.kill(worker, signal.SIGKILL)
    out, _ = child.communicate(timeout=SECONDS)
    assert child.returncode == 1
    assert "long script 1 broken: the process that ran it ended with -9: it said nothing" in out


def test_workers_end_with_who_asked(quintet: Program, tmp_path: Path) -> None:
    child = quintet.start("eval", "run", suite(tmp_path / "mine"), "--model", "script", "--trials", "2")
    until(lambda: len(workers_of(child.pid)) == 2 and begun(tmp_path))
    workers = workers_of(child.pid)
    child.kill()
    child.wait(SECONDS)
    until(lambda: not any(map(lives, workers)))
