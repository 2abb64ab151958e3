"""Runtime drift: the copy that runs, the one that is installed, a session's owner, and a checkout differ."""

import base64
import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from quintet import __version__
from quintet.adapters.processes.system import process_identity
from quintet.package import FOLDER
from tests.app.health.sicknesses import sql
from tests.engine.driving import Driver, drive
from tests.engine.task_places import added, page
from tests.surfaces.program import env

LIMIT = 120.0


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Quintet as an installer leaves it, with a record of every file."""
    site = tmp_path_factory.mktemp("installed") / "site-packages"
    shutil.copytree(FOLDER, site / "quintet", ignore=shutil.ignore_patterns("__pycache__"))
    record = site / f"quintet-{__version__}.dist-info/RECORD"
    record.parent.mkdir()
    lines = []
    for path in sorted((site / "quintet").rglob("*")):
        if path.is_file():
            digest = base64.urlsafe_b64encode(sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
            lines.append(f"{path.relative_to(site)},sha256={digest},{path.stat().st_size}\n")
    record.write_text("".join(lines))
    return site


def codes(site: Path, root: Path) -> dict[str, dict[str, Any]]:
    argv = [sys.executable, "-m", "quintet", "doctor", "--json"]
    around = env({"PYTHONPATH": str(site)})
    done = subprocess.run(argv, cwd=root, capture_output=True, timeout=LIMIT, env=around)
    assert b"Traceback" not in done.stderr, done.stderr
    return {one["code"]: one for one in json.loads(done.stdout) if one["code"] != "SANDBOX_WEAK"}


def test_s3_3_5_a_broken_installed_copy_and_an_outdated_owner_are_found(copy: Path, repo: Path) -> None:

    async def script(driver: Driver) -> None:
        await driver.turn("list the files")

    drive(repo, script)
    assert codes(copy, repo) == {}
    owner = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({LIMIT})"])
    try:
        identity = process_identity(owner.pid)
        sql(repo, f"UPDATE sessions SET owner = 'x', owner_pid = {owner.pid}, owner_started = '{identity}'")
        assert codes(copy, repo) == {}, "its owner runs the same files"
        changed = copy / "quintet/testing.py"
        changed.write_text(changed.read_text() + "# edited\n")
        os.utime(changed, (2**32, 2**32))  # whatever this machine's clock says, after the start of every process
        (copy / "quintet/surfaces/tour.py").unlink()
        found = codes(copy, repo)
        assert found.keys() == {"INSTALL_CHANGED", "OWNER_OUTDATED", "RUNTIME_DRIFT"}
        changes = f"2 files of Quintet {__version__}: quintet/surfaces/tour.py, quintet/testing.py"
        assert changes in found["INSTALL_CHANGED"]["problem"]
        assert str(owner.pid) in found["OWNER_OUTDATED"]["problem"]
        assert found["RUNTIME_DRIFT"]["severity"] == "error" and "testing.py" in found["RUNTIME_DRIFT"]["problem"]
        os.utime(changed)
    finally:
        owner.kill()
        owner.wait(LIMIT)


@pytest.mark.parametrize("policy", ["auto", "ask", "log-only"])
def test_s3_3_5_no_unit_is_dispatched_by_a_quintet_whose_files_changed(copy: Path, repo: Path, policy: str) -> None:
    """As an upgrade does it while a session runs: what is imported later would be of another version."""
    added(repo, page("safe", body='create the file safe.txt with "x"\n'))
    (copy / "quintet/testing.py").touch()
    os.utime(copy / "quintet/testing.py", (2**32, 2**32))
    argv = (sys.executable, "-m", "quintet", "-p", "/implement", "--autonomous", "--permission-profile", "trusted")
    around = env({"PYTHONPATH": str(copy), "QUINTET_REPAIR_AUTO_TRANSITION": policy})
    quiet = subprocess.DEVNULL
    try:
        done = subprocess.run(argv, cwd=repo, stdin=quiet, capture_output=True, text=True, timeout=LIMIT, env=around)
    finally:
        os.utime(copy / "quintet/testing.py")
    assert "no task starts: RUNTIME_DRIFT: " in done.stdout + done.stderr, done
    assert done.returncode != 0 and not (repo / "safe.txt").exists()


def test_s3_3_5_a_checkout_that_differs_from_the_copy_is_found(copy: Path, repo: Path) -> None:
    shutil.copytree(copy / "quintet", repo / "src/quintet")
    assert "CHECKOUT_DIFFERS" not in codes(copy, repo)
    (repo / "src/quintet/package.py").write_text("# another\n")
    assert "package.py" in codes(copy, repo)["CHECKOUT_DIFFERS"]["problem"]


def test_quintet_in_the_project_is_found(copy: Path) -> None:
    assert "INSTALLED_IN_PROJECT" in codes(copy, copy)
