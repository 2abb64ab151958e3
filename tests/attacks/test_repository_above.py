"""A `.git` of somebody else's above a folder does not make that somebody's folder the project."""

import os
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.app.opening_notes import lies_in, not_yours
from quintet.domain.base.errors import ToolFailed

STRANGER = 54321
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """As /tmp is: everybody's, with a repository in it and a folder of the user's."""
    folder = tmp_path / "shared"
    (folder / "mine/src").mkdir(parents=True)
    subprocess.run(("git", "init", "-q", str(folder)), check=True)
    folder.chmod(0o1777)
    return folder


def given(*paths: Path) -> None:
    for path in paths:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


def opened(path: Path) -> str:
    return locate(str(path)).root


@pytest.mark.parametrize("whose", [(".git",), ("",), ("", ".git")], ids=["repository", "folder", "both"])
def test_what_another_user_owns_does_not_count(shared: Path, whose: tuple[str, ...]) -> None:
    given(*(shared / name for name in whose))
    for path in (shared / "mine", shared / "mine/src"):
        found = locate(str(path))
        assert (found.root, found.passed_over) == (str(path), str(shared))
        assert str(shared) in not_yours(found) and lies_in(found) == ""


@pytest.mark.parametrize("kind", ["file", "link", "dangling folder"])
def test_nor_does_it_as_another_kind_of_file(shared: Path, kind: str) -> None:
    (shared / ".git").rename(shared / "elsewhere")
    if kind == "link":
        (shared / ".git").symlink_to("elsewhere")
    elif kind == "file":
        (shared / ".git").write_text("gitdir: elsewhere\n")
    else:
        (shared / ".git").mkdir()
    given(shared / ".git")
    assert opened(shared / "mine") == str(shared / "mine")


def test_a_stranger_between_hides_nothing_and_the_owners_own_counts(shared: Path) -> None:
    assert opened(shared / "mine") == str(shared)
    given(shared / "mine")
    assert opened(shared / "mine/src") == str(shared)  # the repository is the user's own
    given(shared, shared / ".git", shared / "mine/src")
    assert opened(shared / "mine/src") == str(shared)  # all of it is one stranger's
    os.chown(shared / "mine", 0, 0)
    assert opened(shared / "mine/src") == str(shared / "mine/src")


def test_the_folder_itself_is_the_project_whoever_made_it_a_repository(shared: Path) -> None:
    given(shared, shared / ".git")
    found = locate(str(shared))
    assert (found.root, found.passed_over, found.opened) == (str(shared), "", "")


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        ("directory = {folder}", True),
        ("directory = *", True),
        ("directory = {above}/*", True),
        ("directory = {folder}/mine", False),
        ("directory = {above}", False),
        ("directory = *\n\tdirectory =", False),
        ("directory = /elsewhere\n\tdirectory =\n\tdirectory = {folder}", True),
    ],
)
def test_what_the_users_git_takes_for_safe_counts(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, counts: bool
) -> None:
    given(shared, shared / ".git")
    home = tmp_path / "user"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[safe]\n\t{lines.format(folder=shared, above=tmp_path)}\n")
    monkeypatch.setenv("HOME", str(home))
    assert (opened(shared / "mine") == str(shared)) is counts


def test_the_repository_itself_cannot_say_that_it_is_safe(shared: Path) -> None:
    (shared / ".git/config").write_text("[safe]\n\tdirectory = *\n")
    given(shared / ".git")
    assert opened(shared / "mine") == str(shared / "mine")


def test_who_called_sudo_is_the_user_too(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(shared, shared / ".git")
    monkeypatch.setenv("SUDO_UID", str(STRANGER))
    assert opened(shared / "mine") == str(shared)
    monkeypatch.setenv("SUDO_UID", "x")
    assert opened(shared / "mine") == str(shared / "mine")


def test_a_look_at_git_does_not_go_up_there_either(shared: Path) -> None:
    from quintet.adapters.git.run_git import looking_from

    given(shared / ".git")
    with pytest.raises(ToolFailed, match="not a git repository"), looking_from(str(shared / "mine")):
        pass


def test_a_project_that_is_more_than_the_folder_is_named(shared: Path) -> None:
    found = locate(str(shared / "mine/src"))
    assert (found.root, found.opened) == (str(shared), str(shared / "mine/src"))
    assert str(shared) in lies_in(found) and not_yours(found) == ""
