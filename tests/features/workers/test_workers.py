"""Workers: tasks in worktrees of their own, claims, integration, and what may go wrong on the way."""

import asyncio
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.git.worktrees import Worktrees
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.settings import layers
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_rows import SqliteTasks
from quintet.adapters.sqlite.worker_rows import SqliteWorkers
from quintet.adapters.stores.chosen import open_store
from quintet.app.open import open_session
from quintet.domain.base.errors import TaskTaken, UsageError
from quintet.domain.dials.axes import AxesChange, PermissionProfile
from quintet.domain.journal.protocol import CommandRan
from quintet.domain.ports.tasks import Claim
from quintet.domain.ports.workers import TaskBranch, Widened, Worker, WorkerState
from quintet.domain.tasks.task import Intent
from quintet.domain.workers.integration import IntegrateWay
from quintet.features.workers.integrator import INTENT, Integrator
from quintet.features.workers.service import WorkersSeen
from quintet.features.workers.shop import Shop
from tests.engine.cycles import statuses
from tests.features.workers.working import add, git, page, said, work, writes
from tests.surfaces.program import SECONDS, Program

DONE = "done"


def notices(root: Path, code: str) -> list[str]:
    """What the journals of all sessions say with a code."""
    store = SqliteStore(locate(str(root)).database)
    try:
        found = [event for _, event in store.read_everywhere(["noticed"])]
        return sorted(event.text for event in found if event.code == code)  # type: ignore[attr-defined]
    finally:
        asyncio.run(store.close())


def left(root: Path) -> list[str]:
    """What workers left behind: branches of theirs, worktrees, folders."""
    folder = Path(locate(str(root)).worktree("x").root).parent
    trees = git(root, "worktree", "list").splitlines()[1:]
    return [
        *git(root, "branch", "--list", "quintet/*").split(),
        *trees,
        *(os.listdir(folder) if folder.exists() else ()),
    ]


def hook(root: Path, place: str, script: str) -> None:
    """A shell script of the user's at a point of every session; `$all` is what it is told."""
    path = root.parent / f"{place}.sh"
    path.write_text(f"all=$(cat)\n{script}\nexit 0\n")
    Program(root).settings(f"[hooks]\n{place} = {json.dumps([f'sh {path}'])}\n")


def test_workers_that_ended_long_ago_are_forgotten(repo: Path) -> None:
    def known(*new: Worker) -> list[str]:
        async def looked() -> list[str]:
            store = open_store(locate(str(repo)))
            try:
                for one in new:
                    await store.worker_store().put_worker(one)
                return [one.id for one in store.worker_store().workers()]
            finally:
                await store.close()

        return asyncio.run(looked())

    long_ago, now = "2020-01-01T00:00:00.000Z", SystemClock().now()
    ended = Worker("w-old", "p-1", 1, "gone", 0.0, long_ago, long_ago, WorkerState.ENDED)
    lately = Worker("w-new", "p-2", 1, "gone", 0.0, now, now, WorkerState.ENDED)
    assert known(ended, lately) == ["w-old", "w-new"]
    work(repo)
    assert "w-old" not in known()
    assert "w-new" in known()


@pytest.mark.usefixtures("replays")
def test_tasks_are_done_in_worktrees_and_integrated_with_their_waits_on_record(repo: Path) -> None:
    (repo / "shared.txt").write_text("alpha\n" + "-\n" * 20 + "omega\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "shared")
    add(
        repo,
        page("t1", 'replace "alpha" with "ALPHA" in shared.txt', intent="shared.txt", check="grep -q ALPHA shared.txt"),
        page("t2", 'replace "omega" with "OMEGA" in shared.txt', intent="shared.txt", check="grep -q OMEGA shared.txt"),
        writes("t3", "after.txt", needs="t1", check="grep -q ALPHA shared.txt"),
    )
    told = work(repo, workers=2)
    assert statuses(repo) == {"t1": DONE, "t2": DONE, "t3": DONE}
    assert (repo / "shared.txt").read_text() == "ALPHA\n" + "-\n" * 20 + "OMEGA\n"
    assert (repo / "after.txt").exists()
    assert git(repo, "status", "--short") == ""
    assert sorted(git(repo, "log", "--format=%s", "-3").splitlines()) == ["Task t1", "Task t2", "Task t3"]
    (waited,) = notices(repo, "WAITED_FOR_CLAIM")  # of the two, either may have been the first to claim
    later, first = ("t2", "t1") if waited.startswith("t2") else ("t1", "t2")
    assert waited == f"{later} waited for {first} (shared.txt)"
    assert f"waits for {first} (shared.txt)" in said(told, later)
    assert left(repo) == []


def test_without_an_intent_the_first_write_claims_and_the_next_one_waits(repo: Path) -> None:
    (repo / "shared.txt").write_text("alpha\n" + "-\n" * 20 + "omega\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "shared")
    held = repo.parent / "held"
    slow = f"""case "$all" in *'"Edit"'*) mkdir {held} 2>/dev/null && sleep 1 ;; esac"""
    hook(repo, "post_tool_use", slow)  # the first one is not through with the file when the second one wants it
    add(
        repo,
        page("t1", 'replace "alpha" with "ALPHA" in shared.txt', check="grep -q ALPHA shared.txt"),
        page("t2", 'replace "omega" with "OMEGA" in shared.txt', check="grep -q OMEGA shared.txt"),
    )
    work(repo, workers=2)
    assert statuses(repo) == {"t1": DONE, "t2": DONE}
    assert (repo / "shared.txt").read_text() == "ALPHA\n" + "-\n" * 20 + "OMEGA\n"
    (waited,) = notices(repo, "WAITED_FOR_CLAIM")
    assert waited in ("waited for t1 (shared.txt)", "waited for t2 (shared.txt)")


def test_of_two_that_wait_for_each_other_the_later_gives_way(repo: Path) -> None:
    add(repo, writes("t1", "a.txt"), writes("t2", "b.txt"))

    async def run() -> tuple[Widened, Widened, Widened]:
        places = locate(str(repo))
        shop = Shop(places, layers.load(places))
        try:
            made = []
            for id in ("t1", "t2"):
                claim = await shop.keeper.claim(id, f"q5-{id}/w")
                await shop.workers.claim_paths(id, claim.number, shop.keeper.find(id).text.intent, "")
                begun = TaskBranch(id, f"quintet/{id}", str(repo), "main", "")
                made.append(Integrator(shop, claim, begun, lambda state: asyncio.sleep(0)))
            first, second = made
            free = await first.widen(["c.txt", "a.txt", "/etc/hosts"])
            waiting = asyncio.ensure_future(first.widen(["b.txt"]))
            while not shop.workers.waits():  # noqa: ASYNC110  no event tells of it
                await asyncio.sleep(0.01)
            gave_way = await second.widen(["a.txt"])
            await shop.keeper.let_go("t2", "q5-t2/w")
            return free, gave_way, await waiting
        finally:
            await shop.close()

    free, gave_way, waited = asyncio.run(run())
    assert free == Widened()
    assert gave_way.refused.startswith("this task and others wait for each other: t1 (a.txt)")
    assert waited == Widened(waited="t2 (b.txt)")


def test_a_session_starts_workers_with_its_own_rights_at_most(repo: Path) -> None:
    add(repo, writes("t1", "one.txt"))

    async def run() -> list[str]:
        axes = AxesChange(permission_profile=PermissionProfile.NORMAL)
        async with open_session(str(repo), surface="tui", person=True, axes=axes) as session:
            said = []
            for line in ("/parallel start 1", "/parallel status", "/parallel stop", "/parallel nonsense"):
                followed = session.follow(await session.say(line))
                async for _ in followed:
                    pass
                ran = followed.outcome.event
                assert isinstance(ran, CommandRan)
                said.append(ran.text)
                async with asyncio.timeout(SECONDS):
                    while line.endswith("1") and statuses(repo)["t1"] != DONE:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
            return said

    started, status, stopped, wrong = asyncio.run(run())
    assert started.startswith("1 worker started, at most normal")
    assert status.startswith(("PROCESS", "no worker runs"))
    assert "worker" in stopped
    assert "[start N|status|stop]" in wrong
    assert (repo / "one.txt").exists()


def test_what_does_not_fit_any_more_goes_back_with_what_was_found(repo: Path) -> None:
    (repo / "a.txt").write_text("old\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "a")
    add(repo, page("t1", 'replace "old" with "new" in a.txt', intent="a.txt", check="! grep -q old a.txt"))

    marker = repo.parent / "once"
    theirs = "echo theirs > a.txt && git -c user.name=A -c user.email=a@b commit -qam theirs"
    once = f"test ! -e {marker} && touch {marker} && cd {repo} && {theirs}"
    hook(repo, "pre_tool_use", f"""case "$all" in *'"Edit"'*) {once} ;; esac""")
    told = work(repo)
    assert any("by integration: " in line for line in said(told, "t1")), told
    moves = Program(repo).run("tasks", "show", "t1").out
    assert "CONFLICT (content): Merge conflict in a.txt" in moves
    assert (repo / "a.txt").read_text() == "theirs\n"


def test_unsaved_work_in_the_same_files_is_never_touched(repo: Path) -> None:
    (repo / "a.txt").write_text("alpha\n-\n-\n-\n-\nomega\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "a")
    add(repo, page("t1", 'replace "alpha" with "ALPHA" in a.txt', intent="a.txt", check="grep -q ALPHA a.txt"))
    add(repo, writes("t2", "new.txt"), writes("t3", "free.txt"))
    (repo / "a.txt").write_text("alpha\n-\n-\n-\n-\nunsaved\n")
    (repo / "new.txt").write_text("mine, and new\n")
    told = work(repo)
    assert (repo / "a.txt").read_text() == "alpha\n-\n-\n-\n-\nunsaved\n"
    assert (repo / "new.txt").read_text() == "mine, and new\n"
    assert (repo / "free.txt").exists(), "what is not in the way is integrated"
    assert statuses(repo) == {"t1": "verifying", "t2": "verifying", "t3": DONE}
    later = "verified; not yet integrated into main: your checkout has unsaved work in"
    assert said(told, "t1")[-1] == f"verifying: {later} a.txt"
    assert notices(repo, "INTEGRATED_LATER") == [f"{later} a.txt", f"{later} new.txt"]
    found = json.loads(Program(repo).run("doctor", "--json").out)
    assert {one["subject"] for one in found if one["code"] == "INTEGRATED_LATER"} == {"t1", "t2"}
    git(repo, "commit", "-qam", "saved")
    (repo / "new.txt").unlink()
    work(repo)
    assert statuses(repo) == {"t1": DONE, "t2": DONE, "t3": DONE}
    assert (repo / "a.txt").read_text() == "ALPHA\n-\n-\n-\n-\nunsaved\n"
    assert left(repo) == []


def test_what_is_sent_back_once_is_integrated_at_the_next_attempt_of_the_same_worker(repo: Path) -> None:
    (repo / "a.txt").write_text("one\ntwo\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "a")
    for id, old in (("t1", "one"), ("t2", "two")):  # next to each other: the second conflicts with the first
        add(repo, page(id, f'replace "{old}" with "{old.upper()}" in a.txt', intent="a.txt"))
    (repo / "a.txt").write_text("one\ntwo\nunsaved\n")
    work(repo)
    assert statuses(repo) == {"t1": "verifying", "t2": "verifying"}
    git(repo, "checkout", "-q", ".")
    work(repo)
    assert statuses(repo) == {"t1": DONE, "t2": DONE}
    assert (repo / "a.txt").read_text() == "ONE\nTWO\n"
    shown = Program(repo).run("tasks", "show", "t2").clean(0).out
    assert "retries       1 of 3" in shown, shown
    assert "Merge conflict in a.txt" in shown and "Findings 2" not in shown
    assert "taken over" not in shown


def test_a_checkout_on_no_branch_is_an_error_and_another_branch_moves_without_it(repo: Path) -> None:
    add(repo, writes("t1", "one.txt"))
    git(repo, "checkout", "-q", "--detach")
    with pytest.raises(UsageError, match="detached HEAD"):
        work(repo)
    work(repo, onto="main")
    assert statuses(repo) == {"t1": DONE}
    assert not (repo / "one.txt").exists()
    assert git(repo, "show", "main:one.txt") == "t1"
    assert git(repo, "status", "--short") == ""


def test_a_target_that_is_renamed_meanwhile_is_said_of_every_task(repo: Path) -> None:
    hook(repo, "pre_tool_use", f"git -C {repo} branch -m main trunk 2>&1")
    add(repo, writes("t1", "one.txt"), writes("t2", "two.txt"))
    work(repo)
    assert statuses(repo) == {"t1": "verifying", "t2": "todo"}
    gone = "the branch main no longer exists"
    seen = WorkersSeen(locate(str(repo)))
    assert seen.held_up["t1"].startswith(f"verifying: {gone}"), seen.held_up
    assert seen.held_up["t2"].startswith(f"todo: {gone}"), seen.held_up
    assert (repo / "one.txt").exists() is False
    git(repo, "branch", "-m", "trunk", "main")
    hook(repo, "pre_tool_use", "true")
    work(repo)
    assert statuses(repo) == {"t1": DONE, "t2": DONE}
    assert left(repo) == []


def test_branches_are_kept_where_that_is_wanted_and_build_on_each_other(repo: Path) -> None:
    add(repo, writes("t1", "one.txt"), writes("t2", "two.txt", needs="t1", check="test -f one.txt -a -f two.txt"))
    before = git(repo, "rev-parse", "main")
    work(repo, way=IntegrateWay.BRANCH)
    assert statuses(repo) == {"t1": DONE, "t2": DONE}
    assert git(repo, "rev-parse", "main") == before
    assert git(repo, "ls-tree", "--name-only", "quintet/t2", "one.txt", "two.txt").split() == ["one.txt", "two.txt"]


def test_a_worktree_that_is_deleted_under_a_worker_is_made_again(repo: Path) -> None:
    add(repo, writes("t1", "one.txt"))
    marker, tree = repo.parent / "once", locate(str(repo)).worktree("t1").root
    once = f"test ! -e {marker} && touch {marker} && rm -rf {tree}"
    hook(repo, "pre_tool_use", f"""case "$all" in *'"Write"'*) {once} ;; esac""")
    work(repo)
    assert marker.exists()
    assert statuses(repo) == {"t1": DONE}
    assert (repo / "one.txt").read_text().strip() == "t1"
    assert left(repo) == []


FULL = """
mount -t tmpfs -o size=8m tmpfs "$XDG_STATE_HOME"
$Q tasks add ../t1.md ../t2.md
$Q parallel 1 --permission-profile normal; echo "ended $?"
rm "$XDG_STATE_HOME/ballast"
$Q parallel 1 --permission-profile normal; echo "ended $?"
$Q tasks list
"""


@pytest.mark.system("unshare")
def test_a_disk_that_fills_up_under_a_worker_is_said_and_the_task_is_done_when_there_is_room(quintet: Program) -> None:
    root = quintet.root
    marker = root.parent / "once"
    fill = f"mkdir {marker} && cat /dev/zero > {os.environ['XDG_STATE_HOME']}/ballast"
    hook(root, "pre_tool_use", f"""case "$all" in *'"Write"'*) {fill} ;; esac 2>/dev/null""")
    with Path(os.environ["XDG_CONFIG_HOME"], "quintet", "settings.toml").open("a") as settings:
        settings.write("[doctor]\nfree_bytes = 0\n")
    for name, text in (writes("t1", "one.txt"), writes("t2", "two.txt")):
        (root.parent / name).write_text(text)
    rights = "" if os.geteuid() == 0 else "--user --map-root-user"
    (root.parent / "full.sh").write_text(FULL)
    done = quintet.shell(f"export Q; unshare {rights} --mount --propagation private sh ../full.sh")
    if "mount:" in done.err:
        pytest.skip(f"no mounts here: {done.err.splitlines()[0]}")
    assert marker.exists() and "Traceback" not in done.err, done
    first, second = (int(line.split()[1]) for line in done.out.splitlines() if line.startswith("ended "))
    assert first in (1, 3) and ("is full" in done.err or "No space left" in done.err), done
    assert second == 0, done
    assert sorted(git(root, "log", "--format=%s", "-2").splitlines()) == ["Task t1", "Task t2"]
    assert git(root, "status", "--short") == ""


# When the worker is killed: what it is about to do then, or has just done, and how often before.
MOMENTS = {
    "unit": ("post_tool_use", "*'\"Write\"'*", 1),
    "verification": ("pre_tool_use", "*'verify the task'*", 1),
    "second verification": ("pre_tool_use", "*'verify the task'*", 2),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_workers_task_goes_on_where_it_was(quintet: Program, moment: str) -> None:
    root, marker = quintet.root, quintet.root.parent / "reached"
    place, shape, times = MOMENTS[moment]
    theirs = f"git -C {root} -c user.name=A -c user.email=a@b commit -q --allow-empty -m theirs"
    moves_on = f"""case "$all" in {shape}) echo x >> {marker}.times
test "$(wc -l < {marker}.times)" = 1 && {theirs if times == 2 else "true"}
test "$(wc -l < {marker}.times)" = {times} && touch {marker} && sleep 25
;; esac"""
    hook(root, place, moves_on)
    add(root, writes("t1", "one.txt"))
    child = quintet.start("worker", "--permission-profile", "normal")
    deadline = time.monotonic() + SECONDS
    while not marker.exists():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait(SECONDS)
    stands = statuses(root)["t1"]
    assert stands == ("running" if moment == "unit" else "verifying")
    assert any(one["code"] == "WORKER_DEAD" for one in quintet.run("doctor", "--json").json())
    told = work(root)
    assert statuses(root) == {"t1": DONE}, told
    assert (root / "one.txt").read_text().strip() == "t1"
    landed = [one for one in git(root, "log", "--format=%s").splitlines() if one.startswith("Task t1")]
    assert landed == ["Task t1"], "one commit, however many attempts it took"
    assert git(root, "status", "--short") == ""
    assert left(root) == []


def test_a_move_of_the_target_that_was_cut_short_is_finished(repo: Path) -> None:
    trees, state = Worktrees(str(repo)), Path(locate(str(repo)).state)
    before = git(repo, "rev-parse", "main")
    (repo / "one.txt").write_text("one\n")
    git(repo, "add", "."), git(repo, "commit", "-qm", "one")
    after = git(repo, "rev-parse", "main")
    git(repo, "update-ref", "refs/heads/main", before)  # the files and the index are there, the branch is not
    add(repo, writes("t1", "two.txt"))
    (state / INTENT).write_text(json.dumps(["main", before, after]))
    work(repo)
    assert not trees.unsaved()
    assert git(repo, "log", "--format=%s", "-2").splitlines() == ["Task t1", "one"]


def test_a_worker_that_lost_its_lease_writes_nothing(repo: Path) -> None:
    add(repo, writes("t1", "one.txt"))
    identity = process_identity(os.getpid())

    async def run() -> None:
        store = SqliteStore(locate(str(repo)).database)
        tasks, workers = SqliteTasks(store), SqliteWorkers(store)
        try:
            old = await tasks.claim_task(Claim("t1", "a", os.getpid(), identity, 0.0))
            assert await tasks.claim_task(Claim("t1", "a", os.getpid(), identity, 0.0, number=old)) == old
            assert await workers.claim_paths("t1", old, [Intent("one.txt")], "") == ()
            new = await tasks.claim_task(Claim("t1", "b", os.getpid(), identity, 0.0), gone="a")
            assert new == old + 1
            assert not await tasks.claim_task(Claim("t1", "a", os.getpid(), identity, 0.0, number=old))
            row = tasks.task("t1")
            assert row
            for late in (
                lambda: tasks.amend_task(row, old),
                lambda: workers.claim_paths("t1", old, [Intent("x")], ""),
                lambda: workers.put_branch(TaskBranch("t1", "b", "w", "main", "c"), old),
                lambda: workers.drop_branch("t1", old),
            ):
                with pytest.raises(TaskTaken):
                    await late()
            assert workers.branches() == {}
            assert workers.path_claims() == {"t1": (Intent("one.txt"),)}
            await tasks.release_task("t1", "b")
            assert workers.path_claims() == {}, "claims go with the lease"
        finally:
            await store.close()

    asyncio.run(run())


def test_the_commands_say_what_is_there(quintet: Program) -> None:
    add(quintet.root, writes("t1", "one.txt"), writes("t2", "two.txt"))
    restricted = quintet.run("parallel")
    assert restricted.code == 2 and "--permission-profile normal" in restricted.err
    assert quintet.run("parallel", "99", "--permission-profile", "normal").code == 2
    assert quintet.run("worker", "--integrate", "x", "--permission-profile", "normal").code == 2
    result = quintet.run("parallel", "2", "--permission-profile", "normal", "--json").clean(0).json()
    assert result["tasks"] == {"t1": DONE, "t2": DONE}
    assert [one["state"] for one in result["workers"]] == ["ended", "ended"]
    assert sum(one["done"] for one in result["workers"]) == 2
    shown = quintet.run("-p", "/parallel status")
    assert "no worker runs" in shown.out
    assert "expected a number" in quintet.run("-p", "/parallel start x", "--permission-profile", "normal").err
    assert "told to stop" in quintet.run("-p", "/parallel stop").out or "no worker runs" in shown.out


def test_the_doctor_takes_away_what_is_left_of_tasks_that_are_over(quintet: Program) -> None:
    add(quintet.root, writes("t1", "one.txt"))
    places = locate(str(quintet.root))
    Worktrees(places.root).make("gone", places.worktree("gone").root, git(quintet.root, "rev-parse", "HEAD"))
    found = quintet.run("doctor", "--json").json()
    assert [one["subject"] for one in found if one["code"] == "WORKTREE_LEFT"] == ["gone"]
    assert "removed the worktree of gone" in quintet.run("doctor", "fix").out
    assert not os.path.exists(places.worktree("gone").root)
    shutil.rmtree(Path(places.worktree("x").root).parent, ignore_errors=True)
