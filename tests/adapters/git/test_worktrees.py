"""A task's branch gets what its worktree holds on disk, whatever a call has written into the index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quintet.adapters.git.worktrees import Worktrees
from tests.engine.planted import git as git_says


def git(root: Path, *words: str) -> str:
    return git_says(root, *words).strip()


def worktree(repo: Path) -> tuple[Worktrees, Path]:
    trees, path = Worktrees(str(repo)), repo.parent / "worktree"
    trees.make("t1", str(path), git(repo, "rev-parse", "HEAD"))
    return trees, path


def planted(path: Path, text: str) -> str:
    """Content that git has and no file has."""
    source = path.parent / "planted"
    source.write_text(text)
    return git(path, "hash-object", "-w", str(source))


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
@pytest.mark.parametrize("committed", [True, False])
def test_what_stands_in_the_index_alone_is_not_kept(repo: Path, flag: str, committed: bool) -> None:
    """Nobody saw it, nothing verified it, and no command may write such a file."""
    (repo / "good.py").write_text("good\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "good")
    trees, path = worktree(repo)
    for name in (".mcp.json", ".vscode/tasks.json", "good.py"):
        entry = f"100644,{planted(path, 'evil')},{name}"
        git(path, "update-index", "--add", "--cacheinfo", entry), git(path, "update-index", flag, name)
    if committed:
        git(path, "commit", "-qm", "by a call")
    (path / "new.txt").write_text("new\n")
    head = trees.keep("t1", str(path), "Task t1")
    held, before = (git(repo, "ls-tree", "-r", "--name-only", commit).split() for commit in (head, "HEAD"))
    assert held == sorted([*before, "new.txt"])
    assert git(repo, "show", f"{head}:good.py") == "good"


def test_what_is_kept_is_all_that_is_there(repo: Path) -> None:
    (repo / "run.sh").write_text("true\n"), (repo / "run.sh").chmod(0o755)
    (repo / "gone.txt").write_text("gone\n"), (repo / "link").symlink_to("run.sh")
    (repo / ".gitignore").write_text("ignored\n*.log\n"), (repo / "kept.log").write_text("tracked all the same\n")
    git(repo, "add", "."), git(repo, "add", "-f", "kept.log"), git(repo, "commit", "-qm", "more")
    trees, path = worktree(repo)
    head = git(repo, "rev-parse", "HEAD")
    assert trees.keep("t1", str(path), "Task t1") == head, "nothing has changed"
    (path / "gone.txt").unlink(), (path / "ignored").write_text("x\n"), (path / "run.sh").chmod(0o644)
    (path / "kept.log").write_text("changed\n"), (path / "a/b").mkdir(parents=True), (path / "a/b/c").write_text("c\n")
    os.utime(path / "a/b/c", (1, 1))
    kept = trees.keep("t1", str(path), "Task t1")
    changed = git(repo, "diff-tree", "-r", "--name-status", head, kept).replace("\t", " ").splitlines()
    assert changed == ["A a/b/c", "D gone.txt", "M kept.log", "M run.sh"]
    assert git(path, "status", "--short") == ""
    assert trees.keep("t1", str(path), "Task t1") == kept


def test_line_ends_of_files_that_nobody_changed_stay(repo: Path) -> None:
    (repo / "theirs.txt").write_bytes(b"a\r\nb\r\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "with both characters")
    (repo / ".gitattributes").write_text("*.txt text\n")
    git(repo, "add", ".gitattributes"), git(repo, "commit", "-qm", "from now on without")
    trees, path = worktree(repo)
    head = git(repo, "rev-parse", "HEAD")
    assert trees.keep("t1", str(path), "Task t1") == head
    (path / "new.txt").write_text("new\n")
    kept = trees.keep("t1", str(path), "Task t1")
    assert git(repo, "diff-tree", "-r", "--name-status", head, kept).split() == ["A", "new.txt"]
