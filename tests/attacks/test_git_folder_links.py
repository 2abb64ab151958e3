"""A command that commits leaves no link in a git folder: what the user's git writes next would go where it leads."""

import subprocess
from pathlib import Path

import pytest

from quintet.adapters.protected.git_watch import links_in
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox
from tests.attacks.test_sandbox_reach import BWRAP, GIT, Inside
from tests.attacks.world import put

EDIT, COMMIT = Effect.EDIT, Effect.COMMIT
KINDS = [BWRAP, Sandbox.PARTIAL, Sandbox.NONE]
LEFT = {
    "message": ".git/COMMIT_EDITMSG",
    "merge message": ".git/MERGE_MSG",
    "ORIG_HEAD": ".git/ORIG_HEAD",
    "FETCH_HEAD": ".git/FETCH_HEAD",
    "packed": ".git/packed-refs",
    "lock": ".git/index.lock",
    "log": ".git/logs/refs/heads/feature",
    "log of HEAD": ".git/logs/HEAD",
    "branch": ".git/refs/heads/feature",
    "folder of logs": ".git/logs/refs/remotes",
    "objects": ".git/objects/pack",
    "single objects": ".git/objects/ab",
    "unfinished": ".git/rebase-merge",
    "conflicts": ".git/rr-cache",
    "any name": ".git/anything/below/it",
}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    return put(tmp_path / "victim/precious", "precious\n")


def planting(path: str, victim: Path) -> str:
    return f"mkdir -p $(dirname {path}); rm -rf {path}; ln -s {victim} {path}"


def commit(repo: Path) -> None:
    named = ("git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run((*named, "commit", "-q", "--allow-empty", "-m", "m2"), check=True)


def test_the_users_next_commit_writes_nothing_outside(repo: Path, victim: Path) -> None:
    done = Inside(repo, Sandbox.NONE)(planting(".git/COMMIT_EDITMSG", victim), EDIT, COMMIT)
    commit(repo)
    assert victim.read_text() == "precious\n"
    assert [note for note in done.notes if ".git/COMMIT_EDITMSG" in note]


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.parametrize("kind", KINDS)
def test_no_link_stays(repo: Path, victim: Path, kind: Sandbox, name: str) -> None:
    done = Inside(repo, kind)(planting(LEFT[name], victim), EDIT, COMMIT)
    assert not (repo / LEFT[name]).is_symlink(), (done.output, done.notes)
    assert any(LEFT[name] in note for note in done.notes), done.output
    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "line",
    [
        "git worktree add -q w && ln -sf {victim} .git/worktrees/w/COMMIT_EDITMSG",
        "git worktree add -q w && mkdir -p .git/worktrees/w/logs && ln -sf {victim} .git/worktrees/w/logs/HEAD",
        "mkfifo .git/COMMIT_EDITMSG || (rm .git/COMMIT_EDITMSG; mkfifo .git/COMMIT_EDITMSG)",
        "mkdir -p d; mv .git/logs d/logs; ln -s ../d/logs .git/logs",
        "mv .git/logs .git/l; ln -s l .git/logs",
    ],
    ids=["worktree", "log of a worktree", "pipe", "moved into the tree", "inside"],
)
def test_nor_another_way_to_have_one(repo: Path, victim: Path, kind: Sandbox, line: str) -> None:
    inside = Inside(repo, kind)
    done = inside(line.format(victim=victim), EDIT, COMMIT)
    assert list(links_in(str(repo / ".git"))) == [], done.output
    assert done.notes
    assert not inside(f"{GIT} commit -q --allow-empty -m z", EDIT, COMMIT).exit_code


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_of_git_have_no_second_name(repo: Path, kind: Sandbox) -> None:
    put(repo / "tasks.sh", "precious\n")
    inside = Inside(repo, kind)
    inside("rm -f .git/COMMIT_EDITMSG; ln tasks.sh .git/COMMIT_EDITMSG", EDIT, COMMIT)
    commit(repo)
    assert (repo / "tasks.sh").read_text() == "precious\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_repository_without_its_head_gets_it_back(repo: Path, victim: Path, kind: Sandbox) -> None:
    before = (repo / ".git/HEAD").read_text()
    Inside(repo, kind)(planting(".git/HEAD", victim), EDIT, COMMIT)
    assert (repo / ".git/HEAD").read_text() == before
    assert not (repo / ".git/HEAD").is_symlink()


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_repository_with_a_link_does_not_stay(repo: Path, victim: Path, kind: Sandbox) -> None:
    done = Inside(repo, kind)(f"git init -q v; ln -s {victim} v/.git/COMMIT_EDITMSG", EDIT, COMMIT)
    assert not (repo / "v/.git").exists(), done.notes


@pytest.mark.parametrize("kind", KINDS)
def test_a_bare_repository_gets_none(repo: Path, victim: Path, kind: Sandbox) -> None:
    subprocess.run(("git", "clone", "-q", "--bare", str(repo), str(repo / "b.git")), check=True)
    done = Inside(repo, kind)(planting("b.git/packed-refs", victim), EDIT, COMMIT)
    assert not (repo / "b.git/packed-refs").is_symlink(), done.notes


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_that_was_there_stays_and_one_that_was_turned_does_not(
    repo: Path, victim: Path, tmp_path: Path, kind: Sandbox
) -> None:
    for name in ("logs", "rr-cache"):
        put(tmp_path / f"shared/{name}/a", "")
        subprocess.run(("rm", "-rf", str(repo / ".git" / name)), check=True)
        (repo / ".git" / name).symlink_to(tmp_path / "shared" / name)
    done = Inside(repo, kind)(f"ln -sfn {victim} .git/rr-cache; ls", EDIT, COMMIT)
    assert (repo / ".git/logs").is_symlink(), done.notes
    assert not (repo / ".git/rr-cache").is_symlink()


def test_what_git_itself_makes_stays(repo: Path) -> None:
    inside = Inside(repo, Sandbox.NONE)
    steps = (
        f"git checkout -q -b side; echo b > b; git add b; {GIT} commit -q -m b; {GIT} tag -a t -m t; git gc -q",
        f"{GIT} worktree add -q w; git clone -q . v; {GIT} merge -q main; git fetch -q . main; git pack-refs --all",
    )
    for line in steps:
        assert inside(line, EDIT, COMMIT).notes == ()
    assert (repo / "v/.git").exists()


def test_a_head_that_is_a_link_to_a_branch_is_gits_own(repo: Path) -> None:
    head = repo / ".git/HEAD"
    for led, found in (("refs/heads/main", 0), ("refs/heads/../../../x", 1), ("../x", 1), ("/x", 1)):
        head.unlink()
        head.symlink_to(led)
        assert len(list(links_in(str(repo / ".git")))) == found, led
