"""Git folders are believed only if both ends know each other."""

import os
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.git.git_folders import GitFolders, git_folders, read_plain
from quintet.adapters.protected.linked_git import linked


def git(root: Path, *words: str) -> None:
    subprocess.run(("git", *words), cwd=root, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def lead(project: Path, to: object) -> None:
    (project / ".git").write_text(f"gitdir: {to}\n")


def test_a_folder_is_what_it_is_whatever_it_says(repo: Path) -> None:
    own = f"{repo}/.git"
    assert git_folders(str(repo)) == GitFolders(own, own)
    (repo / ".git/commondir").write_text("../elsewhere\n")
    assert git_folders(str(repo)) == GitFolders(own, own)


def test_a_worktree_is_known_at_both_ends(repo: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "-q", str(tree))
    common, own = f"{repo}/.git", f"{repo}/.git/worktrees/tree"
    assert git_folders(str(tree)) == GitFolders(own, common)
    assert linked(f"{tree}/.git", str(tree)) == (common, own)


def test_a_file_that_nobody_points_back_at_leads_nowhere(repo: Path, project: Path) -> None:
    lead(project, repo / ".git")
    assert git_folders(str(project)) is None
    assert linked(f"{project}/.git", str(project)) == ()


def test_the_end_of_another_worktree_is_not_ours(repo: Path, project: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    lead(project, repo / ".git/worktrees/tree")
    assert git_folders(str(project)) is None


def test_an_end_made_here_for_the_folder_of_another_is_none(repo: Path, project: Path) -> None:
    """All that a call can write lies in the project: the other repository does not list it."""
    own = project / "made/worktrees/x"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "gitdir").write_text(f"{project}/.git\n")
    (own / "commondir").write_text(f"{repo}/.git\n")
    lead(project, own)
    assert git_folders(str(project)) is None


def test_a_link_to_the_list_of_another_is_none(repo: Path, project: Path) -> None:
    """`made/worktrees` is a link into the project, but the common folder says nothing of it."""
    (project / "made").mkdir()
    (project / "made/HEAD").write_text("ref: refs/heads/main\n")
    (project / "made/commondir").write_text(f"{repo}/.git\n")
    (project / "made/gitdir").write_text(f"{project}/.git\n")
    lead(project, f"{repo}/.git/worktrees/../../../project/made")
    assert git_folders(str(project)) is None


@pytest.mark.parametrize("part", ["objects", "refs", "HEAD"])
def test_a_part_that_is_a_link_makes_it_none(repo: Path, tmp_path: Path, part: str) -> None:
    (repo / ".git" / part).rename(tmp_path / "moved")
    (repo / ".git" / part).symlink_to(tmp_path / "moved")
    assert git_folders(str(repo)) is None


def test_a_link_named_like_a_git_folder_is_none(repo: Path, project: Path) -> None:
    (project / ".git").symlink_to(repo / ".git")
    assert git_folders(str(project)) is None


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: \0", "gitdir: a\nb", "gitfile: x", "gitdir: .", "\xff"])
def test_a_file_of_nonsense_is_none(project: Path, text: str) -> None:
    (project / ".git").write_bytes(text.encode("latin-1"))
    assert git_folders(str(project)) is None


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    names = ("file", "link", "pipe", "none", ".")
    assert [read_plain(str(tmp_path / name)) for name in names] == [b"text", b"", b"", b"", b""]
    assert read_plain(str(tmp_path / "file"), 3) == b""
