"""The git tools, in a real repository."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from tests.tools.calling import Caller


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def changed(tools: Caller) -> Caller:
    """One staged change, one that is not, and one new file."""
    staged, unstaged = tools.root / "tally/__init__.py", tools.root / "tally/count.py"
    staged.write_text("staged = True\n")
    git(tools.root, "add", "tally/__init__.py")
    unstaged.write_text(unstaged.read_text().replace("words", "tokens"))
    (tools.root / "new.txt").write_text("new\n")
    return tools


def test_status_names_the_branch_and_every_change(changed: Caller) -> None:
    assert changed.ok("git_status") == "## main\nM  tally/__init__.py\n M tally/count.py\n?? new.txt"


def test_a_clean_tree_has_nothing_to_show(tools: Caller) -> None:
    assert tools.ok("git_status") == "## main"
    assert tools.ok("git_diff_unstaged") == "nothing to show"
    assert tools.ok("git_diff_staged") == "nothing to show"


def test_the_diffs_show_each_their_own_change(changed: Caller) -> None:
    unstaged, staged = changed.ok("git_diff_unstaged"), changed.ok("git_diff_staged")
    assert "+def tokens(text: str) -> int:" in unstaged
    assert "staged = True" not in unstaged
    assert "+staged = True" in staged
    assert "tokens" not in staged
    both = changed.ok("git_diff", target="HEAD")
    assert "+staged = True" in both
    assert "+def tokens" in both


def test_context_lines_are_as_many_as_asked_for(changed: Caller) -> None:
    assert "return len" in changed.ok("git_diff_unstaged", context_lines=3)
    assert "return len" not in changed.ok("git_diff_unstaged", context_lines=0)


@pytest.mark.parametrize("target", ["--output=leak.txt", "-p", "nowhere", "nowhere..main"])
def test_a_target_is_a_revision_and_nothing_else(changed: Caller, target: str) -> None:
    said = changed.fails("git_diff", target=target)
    assert target in said
    assert not (changed.root / "leak.txt").exists()


def test_a_folder_that_is_no_repository_says_so(tools: Caller, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    assert "not a git repository" in Caller(tmp_path / "bare").fails("git_status")


def test_the_repositorys_own_helpers_are_not_run(changed: Caller) -> None:
    """A diff driver, a text converter and a monitor, set up in the repository, each of which would leave a mark."""
    root = changed.root
    helper = root.parent / "helper.sh"
    helper.write_text(f'#!/bin/sh\ntouch {root.parent}/helper-ran\ncat "$1" 2>/dev/null\n')
    helper.chmod(0o755)
    (root / ".gitattributes").write_text("*.py diff=mine\n")
    git(root, "config", "diff.external", str(helper))
    git(root, "config", "diff.mine.textconv", str(helper))
    git(root, "config", "core.fsmonitor", str(helper))
    git(root, "config", "core.pager", str(helper))
    changed.ok("git_status")
    changed.ok("git_diff_unstaged")
    changed.ok("git_diff", target="HEAD")
    assert not (root.parent / "helper-ran").exists()


def test_a_change_is_staged_unstaged_committed_and_shown(tools: Caller) -> None:
    (tools.root / "new.txt").write_text("one\n")
    assert tools.ok("git_add", files=["new.txt"]) == "A  new.txt"
    assert tools.ok("git_reset") == "?? new.txt"
    tools.ok("git_add", files=["."])
    with (tools.root / ".git/config").open("a") as config:
        config.write("[user]\nname = Ada\nemail = ada@example.com\n")
    assert "Add new" in tools.ok("git_commit", message="Add new")
    assert "Add new" in tools.ok("git_log", max_count=1)
    shown = tools.ok("git_show", revision="HEAD")
    assert "+one" in shown and "new.txt" in shown
    assert "nothing to commit" in tools.fails("git_commit", message="again")


def test_branches_are_made_listed_and_gone_to(tools: Caller) -> None:
    tools.ok("git_create_branch", branch_name="topic")
    assert "## topic" in tools.ok("git_checkout", branch_name="topic")
    listed = tools.ok("git_branch_list")
    assert "* topic" in listed and "main" in listed
    assert tools.fails("git_checkout", branch_name="nowhere")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("git_checkout", {"branch_name": "--orphan"}),
        ("git_create_branch", {"branch_name": "-D"}),
        ("git_show", {"revision": "--output=leak"}),
        ("git_show", {"revision": "HEAD:.env"}),
        ("git_diff", {"target": "--output=leak"}),
        ("git_add", {"files": []}),
    ],
)
def test_a_word_that_git_would_take_for_an_option_is_refused(
    tools: Caller, tool: str, arguments: dict[str, object]
) -> None:
    assert tools.fails(tool, **arguments)
    assert not (tools.root / "leak").exists()


# ── what is under way, and files that git-lfs keeps


def conflicting(root: Path) -> None:
    git(root, "checkout", "-qb", "other")
    (root / "tally/count.py").write_text("other = 1\n")
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "main")
    (root / "tally/count.py").write_text("ours = 1\n")
    git(root, "commit", "-qam", "ours")


@pytest.mark.parametrize(
    ("words", "mark", "ends"),
    [
        (("merge", "other"), "MERGE_HEAD", "git merge --abort"),
        (("cherry-pick", "other"), "CHERRY_PICK_HEAD", "git cherry-pick --abort"),
        (("rebase", "other"), "rebase-merge", "git rebase --abort"),
    ],
)
def test_a_reset_does_not_throw_away_what_is_under_way(
    tools: Caller, words: tuple[str, ...], mark: str, ends: str
) -> None:
    conflicting(tools.root)
    subprocess.run(["git", *words], cwd=tools.root, capture_output=True, check=False)
    before = subprocess.run(["git", "status"], cwd=tools.root, capture_output=True, check=True).stdout
    said = tools.fails("git_reset")
    assert f"a {words[0]} is in progress" in said
    assert ends in said
    assert (tools.root / ".git" / mark).exists()
    assert subprocess.run(["git", "status"], cwd=tools.root, capture_output=True, check=True).stdout == before


@pytest.mark.system("bwrap")
def test_files_of_git_lfs_are_compared_as_pointers(tools: Caller) -> None:
    """git-lfs itself is set as the required filter, and cannot write below .git in a sandbox that reads."""
    root = tools.root
    (root / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"
    old = pointer.format("4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393", 12345)
    (root / "model.bin").write_text(old)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "lfs")
    for name, value in {"process": "git-lfs-fails filter-process", "clean": "false", "required": "true"}.items():
        git(root, "config", f"filter.lfs.{name}", value)
    (root / "model.bin").write_bytes(b"\0new\0" * 50_000)
    said = tools.ok("git_diff", target="HEAD")
    digest = hashlib.sha256(b"\0new\0" * 50_000).hexdigest()
    assert "-oid sha256:4d7a2146" in said
    assert f"+oid sha256:{digest}" in said
    assert "+size 250000" in said
    assert tools.ok("git_diff_unstaged") == said
    assert tools.ok("git_status") == "## main\n M model.bin"
    (root / "model.bin").write_text(old)
    assert tools.ok("git_diff", target="HEAD") == "nothing to show"
