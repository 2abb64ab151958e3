"""What can be wrong with the machine and the environment that Quintet runs in."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.checks import clock_is_right, no_sandbox_is_left, zone_is_known
from quintet.adapters.settings.checkup import Checkup
from quintet.package import FOLDER
from tests.app.health.sicknesses import loaded
from tests.surfaces.program import Program

LIMIT = 30.0  # seconds, after which something is wrong with the test


def checkup(repo: Path) -> Checkup:
    return Checkup(locate(str(repo)), loaded(repo), thorough=True)


def codes(quintet: Program, **variables: str) -> set[str]:
    return {one["code"] for one in quintet.run("doctor", "--json", **variables).json()} - {"SANDBOX_WEAK"}


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe/Nowhere", "/no/such/file", "XY"])
def test_a_time_zone_that_nobody_knows_is_found(repo: Path, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    assert [one.code for one in zone_is_known(checkup(repo))] == ["CLOCK_ZONE_UNKNOWN"]


@pytest.mark.parametrize("zone", ["", "UTC", "UTC0", "CET-1CEST", "<+03>-3", ":UTC"])
def test_a_time_zone_that_is_known_is_no_finding(repo: Path, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    assert list(zone_is_known(checkup(repo))) == []


def test_a_project_without_sessions_says_nothing_of_the_clock(repo: Path) -> None:
    assert list(clock_is_right(checkup(repo))) == []


def test_a_locale_and_a_temporary_folder_that_will_not_do_are_found(quintet: Program) -> None:
    around = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TMPDIR": "/no/such/folder"}
    assert codes(quintet, **around) == {"LOCALE_NOT_UTF8", "TMPDIR_MISSING"}


def test_a_sandbox_whose_quintet_was_killed_is_found_and_one_that_is_looked_after_is_not(repo: Path) -> None:
    script = os.path.join(FOLDER, "adapters", "sandbox", "sandbox_init.py")
    waiting = f"import time; time.sleep({LIMIT})  # {script}"
    # The middle process ends at once, so that the one it started has no parent but the first.
    argv = [sys.executable, "-c", waiting, script]
    middle = f"from subprocess import *; print(Popen({argv!r}, stdout=DEVNULL, stderr=DEVNULL).pid)"
    child = subprocess.Popen(argv)
    orphan = int(subprocess.run([sys.executable, "-c", middle], capture_output=True, timeout=LIMIT).stdout)
    try:
        until = time.monotonic() + LIMIT
        while time.monotonic() < until and not list(no_sandbox_is_left(checkup(repo), -60)):
            time.sleep(0.05)
        found = list(no_sandbox_is_left(checkup(repo), -60))
        named = {one.subject: (one.code, one.fixable) for one in found}
        assert named[str(orphan)] == ("SANDBOX_ORPHAN", False) and str(child.pid) not in named
        assert list(no_sandbox_is_left(checkup(repo), 3600)) == []
    finally:
        child.kill()
        child.wait(LIMIT)
        os.kill(orphan, 9)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_above_that_is_anothers_is_named(quintet: Program, tmp_path: Path) -> None:
    os.chown(quintet.root / ".git", 12_345, 12_345)
    below = quintet.root / "tally"
    assert "GIT_NOT_YOURS" in codes(Program(below))
