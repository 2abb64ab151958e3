"""What a line may do without a question takes no file away for good: `/rewind` has each of them as it was.

Attacks on that promise: deleting later, writing over what no snapshot holds, moving it first, deleting it twice, and
putting something else in its place.
"""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.testing import ScriptedModel, call
from tests.attacks.world import put
from tests.engine.driving import Driver, drive

NORMAL = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file, link and folder with its access bits and content, but for git's own."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(folder, name) for name in (*folders, *names)):
            mode = path.lstat().st_mode
            data = os.fsencode(os.readlink(path)) if stat.S_ISLNK(mode) else b"" if path.is_dir() else path.read_bytes()
            found[str(path.relative_to(root))] = mode, data
    return found


def bash(line: str, **more: Any) -> Any:
    return call("bash", command=line, **more)


def rewound(root: Path, *calls: Any, **options: Any) -> Driver:
    """The calls, one after the other in one turn, and then `/rewind` to before it."""

    async def script(driver: Driver) -> None:
        await driver.turn("go")
        await driver.command("/rewind 1 files")

    return drive(root, script, ScriptedModel([*([one] for one in calls), "done"]), axes=NORMAL, **options)


@pytest.fixture
def project(repo: Path) -> Path:
    put(repo / ".gitignore", "*.log\nout/\n")
    put(repo / "own.log", "mine\n").chmod(0o640)
    put(repo / "other.log", "other\n")
    put(repo / "out/deep/x", "x")
    (repo / "out").chmod(0o750)
    put(repo / "plain.txt", "plain\n").chmod(0o600)
    return repo


@pytest.mark.system("bwrap")
def test_a_line_that_goes_on_in_the_background_deletes_nothing_without_approval(project: Path) -> None:
    """What it deletes when its call is over is in no record, so nothing would bring it back."""
    driver = rewound(project, bash("sleep 0.2; rm -rf plain.txt own.log out", run_in_background=True))
    decision = driver.of(p.CallDecided)[-1]
    assert decision.verdict == "ask" and "goes on in the background" in decision.reason
    assert (project / "plain.txt").exists() and (project / "out/deep/x").exists()
