"""A call in a task's worktree commits on the task's own branch, and moves nothing else of the repository."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.git.worktrees import Worktrees
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.open import make_containment
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.ports.ports import Finished
from quintet.domain.settings.settings import SandboxSettings, Settings

pytestmark = pytest.mark.system("bwrap")
NAMED = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
MOVES = {
    "the target": "git update-ref refs/heads/main {evil}",
    "the target, forced": "git branch -f main {evil}",
    "the target's file": "echo {evil} > {common}/refs/heads/main",
    "another task's branch": "git update-ref refs/heads/quintet/a {evil}",
    "another task's file": "echo {evil} > {common}/refs/heads/quintet/a",
    "where workers left it": "git update-ref refs/quintet/heads/a {evil}",
    "the packed refs": "git pack-refs --all && git update-ref -d refs/heads/main",
    "a tag": "git tag v1 {evil}",
    "HEAD": "echo ref: refs/heads/quintet/t1 > {common}/HEAD",
    "the settings": "git config --local core.editor touch; git config --local alias.st status",
    "the checkout's index": "rm -f {common}/index",
    "a reflog": "rm -rf {common}/logs",
    "its branch's folder": "rm -rf {common}/refs/heads/quintet {common}/refs/heads",
}


def git(root: Path, *words: str) -> str:
    return subprocess.run([*NAMED, *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


class TaskTree:
    """The worktrees of two tasks; commands run in that of the first."""

    def __init__(self, root: Path, sandbox: Sandbox = Sandbox.BWRAP) -> None:
        self.root = root
        self.trees = Worktrees(str(root))
        base = git(root, "rev-parse", "main")
        places = locate(str(root))
        for task in ("t1", "a"):
            self.trees.make(task, places.worktree(task).root, base)
        self.places: Places = places.worktree("t1")
        self.path = Path(self.places.root)
        self.evil = git(root, "commit-tree", "-p", "main", "-m", "evil", "main^{tree}")
        settings = Settings(sandbox=SandboxSettings(use=sandbox, loopback="open"))
        self._containment = make_containment(self.places, settings, make_terms(self.places, settings))

    def run(self, *lines: str) -> list[Finished]:
        grant = Grant((Effect.READ, Effect.EDIT, Effect.EXECUTE, Effect.COMMIT), (str(self.path),))

        async def go() -> list[Finished]:
            processes = LocalProcesses(self._containment)
            try:
                return [
                    await processes.run(("bash", "-c", line), cwd=str(self.path), grant=grant, timeout=30)
                    for line in lines
                ]
            finally:
                await processes.close()

        return asyncio.run(go())

    def state(self) -> dict[str, bytes | str]:
        """All of the repository but objects and what is of the task's own."""
        files = [path for path in sorted((self.root / ".git").rglob("*")) if path.is_file()]
        own = ("objects/", "worktrees/quintet-t1/", "refs/heads/quintet/t1", "logs/refs/heads/quintet/t1")
        names = {str(path.relative_to(self.root / ".git")): path.read_bytes() for path in files}
        return {name: data for name, data in names.items() if not name.startswith(own)}


@pytest.mark.parametrize("what", MOVES)
def test_no_call_of_a_task_moves_what_is_not_its_own(repo: Path, what: str) -> None:
    tree = TaskTree(repo)
    before = tree.state()
    line = MOVES[what].format(evil=tree.evil, common=repo / ".git")
    tree.run(f"{line}; true")
    assert tree.state() == before
    assert tree.trees.left_at("a") == git(repo, "rev-parse", "main")


def test_a_task_commits_on_its_own_branch_and_goes_on_from_there(repo: Path) -> None:
    tree = TaskTree(repo)
    say = "git -c user.name=Ada -c user.email=ada@example.org"
    made = f"echo one > one.txt && git add one.txt && {say} commit -qm One"
    done = tree.run(made, "git log --format=%s -1 HEAD", f"echo two > two.txt && git add . && {say} commit -qm Two")
    assert [one.exit_code for one in done] == [0, 0, 0], done
    assert done[1].output.strip() == "One"
    assert git(repo, "log", "--format=%s", "-2", "quintet/t1").split() == ["Two", "One"]
    kept = tree.trees.keep("t1", str(tree.path), "Task t1")
    again = tree.run(f"git rev-parse HEAD && {say} commit -q --allow-empty -m Three")
    assert again[0].exit_code == 0 and again[0].output.strip() == kept
    assert git(repo, "log", "--format=%s", "-1", "quintet/t1") == "Three"


@pytest.mark.parametrize("left", ["ref: refs/heads/main", "0" * 40, "{tree}", "{blob}", "../../x", ""])
def test_a_ref_that_names_no_commit_is_not_followed(repo: Path, left: str) -> None:
    tree = TaskTree(repo)
    before = git(repo, "rev-parse", "quintet/t1")
    said = left.format(
        tree=git(repo, "rev-parse", "main^{tree}"), blob=git(repo, "hash-object", "-w", "tests/test_count.py")
    )
    tree.run(f"echo '{said}' > {repo}/.git/refs/heads/quintet/t1; true", "true")
    assert git(repo, "rev-parse", "quintet/t1") == before


def test_a_later_task_begins_where_workers_left_the_one_it_needs(repo: Path) -> None:
    """Also where a call could move it: without a sandbox it can."""
    tree = TaskTree(repo)
    (tree.path / "one.txt").write_text("one\n")
    kept = tree.trees.keep("t1", str(tree.path), "Task t1")
    git(repo, "update-ref", "refs/heads/quintet/t1", tree.evil)
    assert tree.trees.left_at("t1") == kept
    git(repo, "update-ref", "-d", "refs/heads/quintet/t1")
    assert tree.trees.left_at("t1") == ""


def test_partly_contained_calls_move_no_branch_at_all(repo: Path) -> None:
    tree = TaskTree(repo, Sandbox.PARTIAL)
    before = tree.state()
    lines = [f"{MOVES[what].format(evil=tree.evil, common=repo / '.git')}; true" for what in MOVES]
    tree.run(*lines)
    assert tree.state() == before
    assert git(repo, "rev-parse", "quintet/t1") == git(repo, "rev-parse", "main")
