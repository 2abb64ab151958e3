"""Git folders inside a git folder: of submodules, of worktrees, of the submodules of a worktree, and theirs in turn.

A command that commits writes in them, but nothing that names programs or other folders; nor does it put another folder
in the place of one of them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from quintet.domain.permission.effects import Effect, Sandbox
from tests.attacks.test_sandbox_reach import Inside
from tests.attacks.test_task_refs import TaskTree

pytestmark = pytest.mark.system("bwrap")
FSMONITOR = "printf '[core]\\nfsmonitor = touch {canary}; false\\n'"
OTHER = "cp -r {old}/HEAD {old}/objects {old}/refs {new}/; " + FSMONITOR + " > {new}/config"
INNER = ("modules/lib", "worktrees/wt/modules/lib", "modules/lib/worktrees/w/modules/deep", "modules/a/b/modules/c")
WAYS = {
    "its settings": FSMONITOR + " >> {inner}/config",
    "its hooks": "echo 'touch {canary}' > {inner}/hooks/post-checkout; chmod +x {inner}/hooks/post-checkout",
    "another in its place": "cd {inner}/..; mv {name} old; mkdir {name}; "
    + OTHER.format(old="old", new="{name}", canary="{canary}"),
    "another in the place of the folder above": "cd {inner}/../..; mv {above} old; mkdir -p {above}/{name}; "
    + OTHER.format(old="old/{name}", new="{above}/{name}", canary="{canary}"),
    "what a rebase does next": "mkdir {inner}/rebase-merge; echo exec touch x > {inner}/rebase-merge/git-rebase-todo",
    "what a sequence does next": "mkdir -p {inner}/sequencer; echo x touch x > {inner}/sequencer/todo",
}
OF_WORKTREES = {
    "another in its place": "cd {git}/worktrees; mv wt old; mkdir wt; cp old/HEAD old/index old/gitdir wt/; "
    "echo {evil} > wt/commondir",
    "another in the place of the folder above": "cd {git}; mv worktrees old; mkdir -p worktrees/wt; "
    "cp old/wt/HEAD old/wt/index old/wt/gitdir worktrees/wt/; echo {evil} > worktrees/wt/commondir",
    "what a rebase does next": "mkdir {git}/worktrees/wt/rebase-merge; "
    "echo exec touch {canary} > {git}/worktrees/wt/rebase-merge/git-rebase-todo",
}


def git(root: Path, *words: str) -> None:
    subprocess.run(("git", "-C", str(root), *words), check=True, capture_output=True)


def naming(folder: Path) -> dict[str, bytes]:
    """What names programs or other folders there."""
    names = {"config", "commondir", "gitdir", "git-rebase-todo", "todo"}
    files = [
        path for path in folder.rglob("*") if path.is_file() and (path.name in names or path.parent.name == "hooks")
    ]
    return {str(path): path.read_bytes() for path in files}


@pytest.fixture(params=["repository", "worktree"])
def session_in(request: pytest.FixtureRequest, repo: Path, tmp_path: Path) -> Inside:
    """Commands in the repository, or in a worktree of the user's; each has submodules."""
    git(repo, "worktree", "add", "-q", str(tmp_path / "wt"))
    for inner in INNER:
        git(tmp_path, "init", "-q", "--bare", str(repo / ".git" / inner))
    return Inside(repo if request.param == "repository" else tmp_path / "wt", Sandbox.BWRAP)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("way", WAYS)
def test_no_command_makes_an_inner_git_folder_name_a_program(
    repo: Path, tmp_path: Path, session_in: Inside, inner: str, way: str
) -> None:
    folder, before = repo / ".git" / inner, naming(repo / ".git")
    line = WAYS[way].format(inner=folder, name=folder.name, above=folder.parent.name, canary=tmp_path / "canary")
    session_in(line, Effect.EXECUTE, Effect.COMMIT)
    assert naming(repo / ".git") == before


@pytest.mark.parametrize("way", OF_WORKTREES)
def test_no_command_leads_a_worktree_to_another_repository(
    repo: Path, tmp_path: Path, session_in: Inside, way: str
) -> None:
    evil, canary, before = session_in.root / "evil", tmp_path / "canary", naming(repo / ".git")
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(evil))
    git(evil, "config", "core.bare", "false")
    git(evil, "config", "core.fsmonitor", f"touch {canary}; false")
    line = OF_WORKTREES[way].format(git=repo / ".git", evil=evil, canary=canary)
    session_in(line, Effect.EXECUTE, Effect.COMMIT)
    subprocess.run(("git", "-C", str(tmp_path / "wt"), "status"), capture_output=True)
    assert not canary.exists()
    assert naming(repo / ".git") == before


@pytest.mark.parametrize("way", WAYS)
def test_a_task_does_neither_in_its_own_folder(repo: Path, tmp_path: Path, way: str) -> None:
    tree = TaskTree(repo)
    folder = repo / ".git/worktrees/quintet-t1/modules/lib"
    git(tmp_path, "init", "-q", "--bare", str(folder))
    before = naming(repo / ".git")
    tree.run(WAYS[way].format(inner=folder, name="lib", above="modules", canary=tmp_path / "canary"))
    assert naming(repo / ".git") == before


def test_git_still_works_in_all_of_them(repo: Path, tmp_path: Path, session_in: Inside) -> None:
    named = "git -c user.name=a -c user.email=a@example.com"
    line = f"{named} commit -q --allow-empty -m One && {named} worktree add -q tree && git -C tree log -1 --format=%s"
    done = session_in(line, Effect.EXECUTE, Effect.COMMIT)
    assert done.exit_code == 0 and done.output.strip() == "One", done
    for inner in INNER:
        made = session_in(f"git --git-dir={repo / '.git' / inner} hash-object -w --stdin < /dev/null", Effect.COMMIT)
        assert made.exit_code == 0, made
