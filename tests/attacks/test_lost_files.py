"""What a line may do without a question takes no file away for good: `/rewind` has each of them as it was.

Attacks on that promise: deleting later, writing over what no snapshot holds, moving it first, deleting it twice, and
putting something else in its place.
"""

import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.git.shadow_git import LARGEST_FILE
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.testing import ScriptedModel, call
from tests.attacks.test_killed import until
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
        ran = await driver.command("/rewind 1 files")
        assert ran.ok, ran.text

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
    assert decision.verdict == "ask" and "continues in the background" in decision.reason
    assert (project / "plain.txt").exists() and (project / "out/deep/x").exists()


OVER = {
    "redirection": ["echo x > own.log"],
    "appended": ["echo x >> own.log"],
    "here-document": ["cat > own.log <<E\nx\nE"],
    "copy": ["cp plain.txt own.log"],
    "copy to a folder": ["cp plain.txt out/deep/x", "cp plain.txt out/deep"],
    "move over it": ["mv plain.txt own.log"],
    "sed": ["sed -i s/m/n/ own.log"],
    "tee": ["echo x | tee own.log other.log"],
    "link over it": ["ln -sf plain.txt own.log"],
    "sort": ["sort -o own.log plain.txt"],
    "find": ["find . -name '*.py' -fprint own.log"],
    "archive": ["tar cf own.log plain.txt"],
    "packed": ["gzip own.log"],
    "access bits": ["chmod 777 own.log plain.txt"],
    "moved": ["mv own.log seen.txt"],
    "a folder moved": ["mv out elsewhere"],
    "moved, then deleted": ["mv own.log m.log", "rm m.log"],
    "moved into view, then deleted": ["mv own.log m.txt", "rm m.txt"],
    "a folder moved, then deleted": ["mv out out2", "rm -rf out2"],
    "written, then deleted": ["echo x > own.log", "rm own.log"],
    "deleted, written, deleted": ["rm own.log", "echo x > own.log", "rm own.log"],
    "deleted, written by code, deleted": ["rm own.log", 'python3 -c \'open("own.log", "w")\'', "rm own.log"],
    "deleted, and another written over": ["rm -rf out; cp plain.txt own.log"],
    "a folder becomes a file": ["rm -rf out && touch out"],
    "a folder becomes a link": ["rm -rf out && ln -s src out"],
    "a file becomes a folder": ["rm own.log && mkdir own.log && touch own.log/x"],
    "names swapped": ["mv plain.txt t", "mv own.log plain.txt", "mv t own.log"],
    "through a link": ["echo x > link.log"],
    "below a link": ["echo x > linked/own.log"],
    "a new one that is ignored": ["echo x > new.log", "mkdir -p out/new && cp plain.txt out/new/"],
}


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("way", OVER)
def test_what_a_line_writes_over_or_moves_comes_back_whatever_git_ignores(project: Path, way: str) -> None:
    (project / "link.log").symlink_to("own.log")
    (project / "linked").symlink_to(".")
    put(project / "src/a.py", "a\n")
    before = tree(project)
    driver = rewound(project, *map(bash, OVER[way]))
    assert {decided.verdict for decided in driver.of(p.CallDecided)} == {"allow"}
    assert {done.status for done in driver.of(p.ToolFinished)} == {"ok"}
    assert tree(project) == before


@pytest.mark.system("bwrap")
def test_a_folder_that_a_file_tool_moves_comes_back_with_what_git_ignores(project: Path) -> None:
    before = tree(project)
    driver = rewound(project, call("fs_move", source="out", destination="seen"))
    assert driver.of(p.ToolFinished)[0].status == "ok"
    assert tree(project) == before


@pytest.mark.system("bwrap")
def test_what_no_snapshot_holds_is_not_written_over_without_approval(project: Path) -> None:
    with (project / "data.bin").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    (project / "linked").symlink_to("data.bin")
    over = ["echo x > ./data.bin", f"echo x > {project}/data.bin", "echo x > linked", "sed -i s/a/b/ *.bin"]
    driver = rewound(project, *map(bash, over))
    assert [done.status for done in driver.of(p.ToolFinished)] == ["error"] * len(over)
    assert all("data.bin is too large" in done.content for done in driver.of(p.ToolFinished))
    beside = rewound(project, bash("rm plain.txt; echo x > data.bin")).of(p.CallDecided)[-1]
    assert beside.verdict == "ask" and "data.bin would be overwritten" in beside.reason
    assert (project / "data.bin").stat().st_size > LARGEST_FILE
    rewound(project, bash('python3 -c \'open("data.bin", "w")\''))
    assert (project / "data.bin").exists()  # what took its place is not taken for new


@pytest.mark.system("bwrap")
def test_a_secret_that_a_line_moves_along_is_not_taken_away_with_its_folder(project: Path) -> None:
    """Its content is kept nowhere, so nothing would bring it back."""
    put(project / "conf/.env", "A=b")
    rewound(project, bash("mv conf moved"))
    assert (project / "moved/.env").read_text() == "A=b"


KILLED = {
    "by their names": ["rm plain.txt own.log"],
    "with folders": ["rm -rf plain.txt own.log out src"],
    "by a pattern": ["find . -name '*.log' -delete; rm plain.txt"],
    "in a later call": ["touch made.txt", "rm -rf plain.txt own.log out"],
}


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("way", KILLED)
def test_what_was_deleted_right_before_a_kill_is_named_and_comes_back(project: Path, way: str) -> None:
    put(project / "src/a.py", "a\n")
    before = tree(project)
    *first, last = KILLED[way]
    pid = os.fork()
    if not pid:
        try:
            rewound(project, *map(bash, first), bash(f"{last} && sleep 60"))
        finally:
            os._exit(0)
    try:
        until(lambda: not (project / "plain.txt").exists() and not (project / "own.log").exists())
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    async def script(driver: Driver) -> None:
        seen = await driver.command("/rewind 1")
        assert "own.log" in seen.text and "plain.txt" in seen.text
        put(project / "since.txt", "mine")
        await driver.command("/rewind 1 files")

    drive(project, script, axes=NORMAL, resume="latest")
    assert (project / "since.txt").read_text() == "mine"
    (project / "since.txt").unlink()
    (project / "made.txt").unlink(missing_ok=True)
    assert tree(project) == before
