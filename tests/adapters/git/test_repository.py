"""The branch in the header, in repositories of every honest kind."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.git.repository import branch


def git(root: Path, *words: str) -> str:
    return subprocess.run(("git", *words), cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def seen(root: Path) -> str:
    return asyncio.run(branch(str(root)))


def touch(path: Path) -> None:
    """Make git look at it again, though nothing is changed."""
    os.utime(path, (1_600_000_000, 1_600_000_000))


def test_a_star_stands_for_a_change_and_for_nothing_else(repo: Path) -> None:
    count = repo / "tally/count.py"
    assert seen(repo) == "main"
    touch(count)
    assert seen(repo) == "main"
    (repo / "new.txt").write_text("untracked\n")
    assert seen(repo) == "main"
    before = count.read_text()
    count.write_text(before.replace("words", "sdrow"))
    assert seen(repo) == "main*"
    count.write_text(before)
    assert seen(repo) == "main"
    git(repo, "add", "new.txt")
    assert seen(repo) == "main*"


@pytest.mark.parametrize("change", ["staged", "removed", "mode"])
def test_each_kind_of_change_has_a_star(repo: Path, change: str) -> None:
    count = repo / "tally/count.py"
    if change == "removed":
        count.unlink()
    elif change == "mode":
        count.chmod(0o755)
    else:
        count.write_text("x\n")
        git(repo, "add", ".")
    assert seen(repo) == "main*"


def test_what_the_repository_says_of_its_files_counts(repo: Path) -> None:
    git(repo, "config", "core.fileMode", "false")
    (repo / "tally/count.py").chmod(0o755)
    assert seen(repo) == "main"


def test_lines_that_git_converts_are_no_change(repo: Path) -> None:
    count = repo / "tally/count.py"
    git(repo, "config", "core.autocrlf", "true")
    count.unlink()
    git(repo, "checkout", "--", "tally/count.py")
    assert b"\r\n" in count.read_bytes()
    touch(count)
    assert seen(repo) == "main"


def test_the_users_own_setting_of_line_ends_counts(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "ada"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n")
    monkeypatch.setenv("HOME", str(home))
    count = repo / "tally/count.py"
    count.unlink()
    git(repo, "-c", "core.autocrlf=true", "checkout", "--", "tally/count.py")
    touch(count)
    assert seen(repo) == "main"


def test_a_file_that_a_filter_converts_is_changed_when_its_size_is(repo: Path) -> None:
    """As those of git-lfs: what git keeps of it is not what is in the folder."""
    git(repo, "config", "filter.half.clean", "head -c 10")
    git(repo, "config", "filter.half.smudge", "cat")
    (repo / ".gitattributes").write_text("*.bin filter=half\n")
    large = repo / "large.bin"
    large.write_text("0123456789" * 20)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "large")
    os.utime(large, (1_600_000_000, 1_600_000_000))
    git(repo, "status")  # git looks, and remembers the size
    assert seen(repo) == "main"
    os.utime(large, (1_500_000_000, 1_500_000_000))
    assert seen(repo) == "main"
    large.write_text("longer" * 100)
    assert seen(repo) == "main*"


def test_a_name_without_commits_and_a_commit_without_name(repo: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    assert seen(fresh) == ""
    git(fresh, "init", "-q", "-b", "topic/ünfinished")
    assert seen(fresh) == "topic/ünfinished"
    git(repo, "checkout", "-q", "--detach")
    assert seen(repo) == "(detached)"


def test_worktrees_submodules_and_folders_apart_are_seen(repo: Path, tmp_path: Path) -> None:
    tree, above, apart = tmp_path / "tree", tmp_path / "above", tmp_path / "apart"
    git(repo, "worktree", "add", "-q", "-b", "side", str(tree))
    assert seen(tree) == "side"
    (tree / "tally/count.py").write_text("changed\n")
    assert (seen(tree), seen(repo)) == ("side*", "main")
    above.mkdir()
    git(above, "init", "-q", "-b", "main")
    git(above, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "sub")
    assert seen(above / "sub") == "main"
    assert seen(above) == "main*"
    apart.mkdir()
    git(apart, "init", "-q", "-b", "far", f"--separate-git-dir={tmp_path / 'store'}")
    assert seen(apart) == ""  # the folder does not say whose it is
    git(apart, "config", "core.worktree", str(apart))
    assert seen(apart) == "far"


def test_a_repository_of_longer_names_and_one_with_a_split_index(repo: Path, tmp_path: Path) -> None:
    longer = tmp_path / "longer"
    longer.mkdir()
    git(longer, "init", "-q", "-b", "main", "--object-format=sha256")
    (longer / "a").write_text("a\n")
    git(longer, "add", ".")
    git(longer, "commit", "-qm", "a")
    assert seen(longer) == "main"
    git(repo, "update-index", "--split-index")
    touch(repo / "tally/count.py")
    assert seen(repo) == "main"


@pytest.mark.parametrize("name", ["HEAD", "config", "index"])
def test_a_file_that_would_not_end_is_not_waited_for(repo: Path, name: str) -> None:
    (repo / ".git" / name).unlink()
    os.mkfifo(repo / ".git" / name)
    assert seen(repo) in ("", "main", "main*")


def test_the_repository_is_left_as_it_is(repo: Path) -> None:
    touch(repo / "tally/count.py")
    index = repo / ".git/index"
    before = index.read_bytes(), sorted(os.listdir(repo / ".git"))
    seen(repo)
    assert (index.read_bytes(), sorted(os.listdir(repo / ".git"))) == before
