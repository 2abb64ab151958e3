"""What is the user's own stays as it is: branches, files that git ignores, links; and one bad task stops no worker."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.adapters.git.worktrees import Worktrees, branch_for
from quintet.adapters.settings import layers
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_rows import SqliteTasks
from quintet.domain.base.errors import UsageError
from quintet.domain.ports.workers import WorkerState
from quintet.domain.tasks.task import Intent
from quintet.domain.workers.integration import LandKind
from quintet.features.workers.integrator import Integrator, fresh_branch
from quintet.features.workers.service import WorkersSeen
from quintet.features.workers.shop import Shop
from tests.engine.cycles import statuses
from tests.features.workers.working import add, git, page, said, work, writes
from tests.surfaces.program import SECONDS, Program

DONE = "done"


def told_of(root: Path, task: str) -> str:
    return WorkersSeen(locate(str(root))).held_up[task]


@pytest.mark.parametrize("checked_out", [False, True])
def test_a_branch_of_the_users_that_is_named_as_a_tasks_is_never_touched(repo: Path, checked_out: bool) -> None:
    git(repo, "checkout", "-qb", "quintet/t1")
    (repo / "mine.txt").write_text("mine\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "mine")
    mine = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "main")
    add(repo, writes("t1", "one.txt"), writes("t2", "two.txt"))
    if checked_out:
        git(repo, "checkout", "-q", "quintet/t1")
    work(repo, onto="main")
    assert git(repo, "rev-parse", "quintet/t1") == mine
    assert statuses(repo) == {"t1": "todo", "t2": DONE}
    assert "the branch quintet/t1 exists" in told_of(repo, "t1") and "git branch -m quintet/t1" in told_of(repo, "t1")
    git(repo, "branch", "-m", "quintet/t1", "other")
    work(repo, onto="main")
    assert statuses(repo) == {"t1": DONE, "t2": DONE}
    assert git(repo, "rev-parse", "other") == mine


def test_a_branch_that_is_in_the_way_by_its_name_is_told(repo: Path) -> None:
    add(repo, writes("t1", "one.txt"))
    git(repo, "branch", "quintet")
    work(repo)
    assert statuses(repo) == {"t1": "todo"} and "a branch named quintet exists" in told_of(repo, "t1")
    git(repo, "branch", "-D", "quintet")
    git(repo, "checkout", "-qb", "quintet/t1")
    before = git(repo, "rev-parse", "HEAD")
    work(repo)
    assert statuses(repo) == {"t1": "todo"} and "quintet/t1 is the branch to integrate into" in told_of(repo, "t1")
    assert git(repo, "rev-parse", "quintet/t1") == before


def test_a_branch_that_was_moved_by_others_is_refused_and_stays(repo: Path) -> None:
    trees, path = Worktrees(str(repo)), locate(str(repo)).worktree("t1").root
    base = git(repo, "rev-parse", "HEAD")
    trees.make("t1", path, base)
    assert trees.refusal("t1", path, "main", known=True) == ""
    assert "exists" in trees.refusal("t1", path, "main", known=False)
    git(Path(path), "commit", "-q", "--allow-empty", "-m", "in its worktree")
    assert trees.refusal("t1", path, "main", known=True) == ""
    trees.keep("t1", path, "kept")
    theirs = git(repo, "commit-tree", "-m", "theirs", f"{base}^{{tree}}")
    git(repo, "update-ref", "refs/heads/quintet/t1", theirs)
    assert "moved by others" in trees.refusal("t1", path, "main", known=True)
    trees.remove("t1", path, branch=True)
    assert git(repo, "rev-parse", "quintet/t1") == theirs


def test_a_symbolic_ref_leads_to_nothing_that_is_moved_or_deleted(repo: Path) -> None:
    git(repo, "branch", "release")
    git(repo, "symbolic-ref", "refs/heads/quintet/t1", "refs/heads/release")
    add(repo, writes("t1", "one.txt"))
    before = git(repo, "rev-parse", "release")
    work(repo)
    assert git(repo, "rev-parse", "release") == before
    assert statuses(repo) == {"t1": "todo"} and "symbolic ref to refs/heads/release" in told_of(repo, "t1")


@pytest.mark.parametrize("place", ["worktrees", "worktrees/quintet-t1", "refs/heads/quintet", "refs/quintet"])
def test_nothing_is_written_or_deleted_through_a_link(repo: Path, place: str) -> None:
    outside, link = repo.parent / "outside", repo / ".git" / place
    (outside / "quintet-t1").mkdir(parents=True)
    (outside / "quintet-t1" / "mine.txt").write_text("mine\n")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    add(repo, writes("t1", "one.txt"))
    work(repo)
    assert sorted(str(one.relative_to(outside)) for one in outside.rglob("*")) == ["quintet-t1", "quintet-t1/mine.txt"]
    assert statuses(repo) == {"t1": "todo"} and f"{link} is a link" in told_of(repo, "t1")


def test_a_worktree_of_the_users_with_the_same_name_stays(repo: Path) -> None:
    theirs = repo.parent / "quintet-t1"
    git(repo, "worktree", "add", "-q", str(theirs))
    add(repo, writes("t1", "one.txt"))
    work(repo)
    assert git(theirs, "status", "--short") == ""
    assert statuses(repo) == {"t1": "todo"} and "is of another worktree" in told_of(repo, "t1")


@pytest.mark.parametrize("hidden", ["ignored", "--assume-unchanged", "--skip-worktree"])
def test_files_that_git_does_not_tell_of_are_not_overwritten(repo: Path, hidden: str) -> None:
    file = repo / "own.txt"
    if hidden == "ignored":
        (repo / ".git/info/exclude").write_text("/own.txt\n")
        added = repo.parent / "added"
        added.write_text("theirs\n")
        blob = git(repo, "hash-object", "-w", str(added))
        git(repo, "update-index", "--add", "--cacheinfo", f"100644,{blob},own.txt")
        after = git(repo, "commit-tree", "-p", "HEAD", "-m", "adds it", git(repo, "write-tree"))
        git(repo, "reset", "-q")
    else:
        file.write_text("alpha\n")
        git(repo, "add", "."), git(repo, "commit", "-qm", "own")
        file.write_text("theirs\n")
        git(repo, "commit", "-qam", "theirs")
        after = git(repo, "rev-parse", "HEAD")
        git(repo, "reset", "-q", "--hard", "HEAD^")
        git(repo, "update-index", hidden, "own.txt")
    before, trees = git(repo, "rev-parse", "HEAD"), Worktrees(str(repo))
    assert trees.in_the_way(before, after, before) == [], (
        "what is as it was committed, or not there, is in nobody's way"
    )
    file.write_text("my own\n")
    assert trees.in_the_way(before, after, before) == ["own.txt"]
    file.unlink()
    (repo / "elsewhere").mkdir(), (repo / "elsewhere/x").write_text("x\n")
    file.symlink_to("elsewhere")
    assert trees.in_the_way(before, after, before) == ["own.txt"]
    file.unlink(), file.mkdir(), (file / "x").write_text("x\n")
    assert trees.in_the_way(before, after, before) == ["own.txt/x"]


def test_an_ignored_file_waits_for_its_owner(repo: Path) -> None:
    (repo / ".gitignore").write_text("own.txt\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "ignore")
    add(
        repo,
        page(
            "t1",
            'replace "own.txt" with "nothing" in .gitignore, then create the file own.txt with "theirs"',
            check="echo theirs > own.txt; ! grep -q own.txt .gitignore",
        ),
    )
    (repo / "own.txt").write_text("mine\n")
    work(repo)
    assert (repo / "own.txt").read_text() == "mine\n"
    assert statuses(repo) == {"t1": "verifying"}
    assert told_of(repo, "t1").endswith("your checkout has unsaved work in own.txt")


def test_what_can_never_land_is_tried_twice_and_others_go_on(repo: Path) -> None:
    add(repo, writes("t1", "one.txt"), writes("t2", "two.txt"))
    (repo / ".git/index.lock").write_text("")
    told = work(repo)
    assert statuses(repo) == {"t1": "verifying", "t2": "verifying"}
    assert "index.lock" in told_of(repo, "t1")
    assert sum(line.startswith("begins") for line in said(told, "t1")) == 2
    assert sum(line.startswith("begins") for line in said(work(repo), "t1")) == 1
    (repo / ".git/index.lock").unlink()
    work(repo)
    assert statuses(repo) == {"t1": DONE, "t2": DONE}


def test_files_go_back_when_the_branch_cannot_move(repo: Path) -> None:
    add(repo, writes("t1", "one.txt"))
    (repo / ".git/refs/heads/main.lock").write_text("")
    work(repo)
    assert statuses(repo) == {"t1": "verifying"}
    (repo / ".git/refs/heads/main.lock").unlink()
    assert git(repo, "status", "--short") == "" and not (repo / "one.txt").exists()
    work(repo)
    assert statuses(repo) == {"t1": DONE} and (repo / "one.txt").exists()


def test_line_numbers_have_a_limit_and_a_bad_task_stops_no_worker(repo: Path) -> None:
    for number in ("9" * 20, "9" * 5000):
        with pytest.raises(UsageError, match="at most 9 digits"):
            add(repo, page("t1", "x", intent=f"a.py:1-{number}"))
    add(repo, writes("t1", "one.txt"), writes("t2", "two.txt"))

    async def spoil() -> None:
        store = SqliteStore(locate(str(repo)).database)
        try:
            tasks = SqliteTasks(store)
            row = tasks.task("t1")
            assert row
            large = structs.replace(row.text, intent=(Intent("one.txt", 1, 2**63),))
            await tasks.amend_task(structs.replace(row, text=large))
        finally:
            await store.close()

    asyncio.run(spoil())
    work(repo)
    assert statuses(repo) == {"t1": "todo", "t2": DONE}
    assert told_of(repo, "t1").startswith("cannot be begun: ")
    left = Program(repo).run("worker", "--permission-profile", "normal")
    assert left.code == 3 and "cannot be begun: " in left.err


def test_a_cut_short_move_is_finished_although_something_else_is_staged(repo: Path) -> None:
    trees, before = Worktrees(str(repo)), git(repo, "rev-parse", "main")
    (repo / "one.txt").write_text("one\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "one")
    after = git(repo, "rev-parse", "main")
    git(repo, "update-ref", "refs/heads/main", before)
    (repo / "mine.txt").write_text("mine\n")
    git(repo, "add", "mine.txt")
    assert trees.settle("main", before, after)
    assert git(repo, "status", "--short") == "A  mine.txt"
    git(repo, "update-ref", "refs/heads/main", before)
    git(repo, "rm", "-q", "--cached", "one.txt")
    assert not trees.settle("main", before, after), "what is not all there is not finished"


def test_parallel_says_why_a_task_is_open_when_a_worker_is_killed(quintet: Program) -> None:
    root, marker = quintet.root, quintet.root.parent / "reached"
    script = root.parent / "kill.sh"
    script.write_text(f"cat > /dev/null; touch {marker}; sleep 25\n")
    quintet.settings(f'[hooks]\npre_tool_use = ["sh {script}"]\n')
    assert quintet.run("parallel", "0", "--permission-profile", "normal").code == 2
    add(root, writes("t1", "one.txt"))
    child = quintet.start("parallel", "1", "--permission-profile", "normal")
    deadline = time.monotonic() + SECONDS
    while not marker.exists():
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    (one,) = WorkersSeen(locate(str(root))).live
    os.kill(one.owner_pid, signal.SIGKILL)
    _, err = child.communicate(timeout=SECONDS)
    assert child.returncode == 3
    assert f"worker 1 (process {one.owner_pid}) was killed: Killed" in str(err)
    assert "t1 is todo: worker 1" in str(err)
    assert statuses(root) == {"t1": "todo"}


def test_a_second_interrupt_ends_the_task_and_puts_it_back(quintet: Program) -> None:
    root, marker = quintet.root, quintet.root.parent / "reached"
    script = root.parent / "slow.sh"
    script.write_text(f"cat > /dev/null; touch {marker}; sleep 25\n")
    quintet.settings(f'[hooks]\npre_tool_use = ["sh {script}"]\n')
    add(root, writes("t1", "one.txt"))
    child = quintet.start("parallel", "1", "--permission-profile", "normal")
    deadline = time.monotonic() + SECONDS
    while not marker.exists():
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    assert child.stderr
    while "stopping after the current tasks" not in str(line := child.stderr.readline()):
        assert line
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=SECONDS)
    assert child.returncode == 130, err
    assert "ending the current tasks" in str(err)
    assert statuses(root) == {"t1": "todo"}


def test_no_two_ids_have_one_branch() -> None:
    ids = ["a..b", "a._b", "a...b", "a.lock", "a.lock_", "a.lock.", "a._lock", "a..lock", "a.", "a_", "a", "a.b"]
    assert len({branch_for(one) for one in ids}) == len(ids)
    for one in ids:
        assert os.system(f"git check-ref-format 'refs/heads/{branch_for(one)}'") == 0


def test_a_branch_that_a_call_moves_before_it_lands_is_kept_anew(repo: Path) -> None:
    """Another task's commits can move every branch of the repository."""
    add(repo, writes("t1", "one.txt"))
    blob = git(repo, "hash-object", "-w", "tests/test_count.py")
    git(repo, "update-index", "--add", "--cacheinfo", f"100644,{blob},.mcp.json")
    evil = git(repo, "commit-tree", "-p", "HEAD", "-m", "evil", git(repo, "write-tree"))
    git(repo, "reset", "-q")
    places = locate(str(repo))

    async def run() -> list[LandKind]:
        shop = Shop(places, layers.load(places), "main")
        try:
            claim = await shop.keeper.claim("t1", "q5-1/w-1")
            path = places.worktree("t1").root
            base = git(repo, "rev-parse", "main")
            shop.trees.make("t1", path, base)
            begun = fresh_branch("t1", path, "main", base)
            await shop.workers.put_branch(begun, claim.number)
            Path(path, "one.txt").write_text("one\n")
            one = Integrator(shop, claim, begun, nothing)
            found = []
            for moved in (True, False):
                await one.rebase("t1", "Task t1")
                if moved:
                    git(repo, "update-ref", "refs/heads/quintet/t1", evil)
                found.append((await one.land("t1")).kind)
            return found
        finally:
            await shop.close()

    assert asyncio.run(run()) == [LandKind.AGAIN, LandKind.LANDED]
    assert (repo / "one.txt").exists() and not (repo / ".mcp.json").exists()
    assert ".mcp.json" not in git(repo, "ls-tree", "-r", "--name-only", "main")


async def nothing(state: WorkerState) -> None:
    pass
