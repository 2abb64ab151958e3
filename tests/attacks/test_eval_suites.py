"""Suites and commits that are hostile: a task hands out nothing that is not its own, and making one writes nothing
outside its place, whatever git's objects name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.domain.base.errors import UsageError
from quintet.features.evals.from_commit import make_task
from quintet.features.evals.tasks import laid_out, read_suite
from tests.features.workers.working import git

PAGE = 'request = "do it"\n[[checks]]\nrun = "cat a.txt"\noutput = "a"\n'


def test_the_folders_of_a_task_are_no_links(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "secret.txt").write_text("mine")
    task = tmp_path / "suite/one"
    task.mkdir(parents=True)
    (task / "task.toml").write_text(PAGE)
    for name in ("work", "hidden"):
        (task / name).symlink_to(mine)
    case = laid_out(read_suite(str(tmp_path / "suite"), "suite").tasks[0], str(tmp_path / "place"))
    assert case.hidden == "" and list(Path(case.work).iterdir()) == []


def entry(kind: str, name: str, id: str) -> bytes:
    return f"{kind} {name}".encode() + b"\0" + bytes.fromhex(id)


def stored(repo: Path, kind: str, data: bytes) -> str:
    """An object as it is, also one that git would not make."""
    words = ["git", "-C", str(repo), "hash-object", "-w", "-t", kind, "--literally", "--stdin"]
    return subprocess.run(words, input=data, capture_output=True, check=True).stdout.decode().strip()


@pytest.mark.parametrize("kind", ["a link and a folder", "a link and a link below it", "a name that leads up"])
def test_a_commit_writes_nothing_outside_the_task_that_is_made_of_it(repo: Path, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    page = stored(repo, "blob", b"def test_it():\n    pass\n")
    link = stored(repo, "blob", str(outside).encode())
    below = "120000" if kind == "a link and a link below it" else "100644"
    folder = stored(repo, "tree", entry(below, "made.txt", page))
    tests = stored(repo, "tree", entry("100644", "test_it.py", page))
    entries = entry("40000", "..", folder) if "up" in kind else entry("120000", "a", link) + entry("40000", "a", folder)
    tree = stored(repo, "tree", entries + entry("100644", "code.py", page) + entry("40000", "tests", tests))
    commit = git(repo, "commit-tree", tree, "-p", "HEAD", "-m", "hostile").strip()
    places = locate(str(repo))
    with pytest.raises(UsageError, match=r"two of its entries are named a|git checks out no file of this name"):
        make_task(str(repo), commit, "made", layers.load(places).settings, 60.0, line="true")
    assert list(outside.iterdir()) == [] and not list(tmp_path.rglob("made.txt"))
