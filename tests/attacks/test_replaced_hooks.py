"""What an approved command puts in place of git's hooks and settings does not stay, without a whole sandbox too."""

from pathlib import Path

import pytest

from quintet.domain.permission.gate import Sandbox
from tests.attacks.test_sandbox_reach import BWRAP, Inside
from tests.attacks.world import put

HOOKS = ".git/hooks"


@pytest.mark.parametrize("kind", [BWRAP, Sandbox.PARTIAL, Sandbox.NONE])
@pytest.mark.parametrize(
    "line",
    [
        f"mv {HOOKS} .git/h; ln -s ../evil {HOOKS}",
        f"rm -r {HOOKS}; ln -s $PWD/evil {HOOKS}",
        f"mv {HOOKS} .git/h; cp -r evil {HOOKS}",
        f"cp evil/pre-commit {HOOKS}/",
        f"ln -s ../../evil/pre-commit {HOOKS}/pre-commit",
        "mv .git/config .git/c; ln -s ../evil/config .git/config",
        "mv .git/info .git/i; ln -s ../evil .git/info",
    ],
)
def test_what_takes_the_place_of_hooks_is_moved_aside(repo: Path, kind: Sandbox, line: str) -> None:
    put(repo / "evil/pre-commit", "#!/bin/sh\ntouch ran\n", executable=True)
    put(repo / "evil/config", "[core]\n\tfsmonitor = x\n")
    put(repo / ".git/hooks/post-merge", "#!/bin/sh\n", executable=True)
    (repo / ".git/info").mkdir(exist_ok=True)
    inside = Inside(repo, kind)
    done = inside(line)
    assert not (repo / HOOKS / "pre-commit").exists(), done.notes
    for name in ("hooks", "config", "info"):
        assert not (repo / ".git" / name).is_symlink()
    if kind is not Sandbox.BWRAP:
        assert "may not be in the project" in " ".join(done.notes)
