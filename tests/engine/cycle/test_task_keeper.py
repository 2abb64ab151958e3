"""A task's row and its file move together, on real files and a real database; two Quintets do not get the same task."""

import asyncio
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect
from quintet.adapters.tasks.drafts import TaskInput, read_input
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.base.errors import NotFound, StoreError, TaskTaken, UsageError
from quintet.domain.dials.axes import Axes
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.drift import DriftKind, summarise
from quintet.domain.tasks.order import next_task
from quintet.domain.tasks.task import TaskStatus as S
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.engine.session.leases import LEASE_SECONDS
from quintet.testing import FrozenClock
from tests.engine.task_places import added, keep, keeping, page, todo, untimed

SEED_COLUMNS = {
    "tasks": "id work_mode run_control permission_profile model_mode status dependency_blockers retry_count "
    "max_retries checkpoint_ref cost_budget cost_spent created_at started_at completed_at next_action_at intent_claim",
    "task_scheduler": "task_id status due_at claimed_by dispatched_at consumed_at expires_at",
    "task_runtime": "task_id process_pid worktree_path current_model context_usage_percent last_heartbeat_at",
    "task_transitions": "id task_id from_status to_status reason scope timestamp",
}


def database(root: Path) -> apsw.Connection:
    return connect(locate(str(root)).database)


# ── rows


def test_s3_9_2_the_four_tables_have_the_seeds_columns(repo: Path) -> None:
    added(repo, page("t1"))
    columns = {
        table: {row[1] for row in database(repo).execute(f"PRAGMA table_info({table})")} for table in SEED_COLUMNS
    }
    for table, names in SEED_COLUMNS.items():
        assert columns[table] >= set(names.split()), table


def test_s3_9_2_every_move_is_a_transition_row(repo: Path) -> None:
    async def work(keeper: TaskKeeper) -> None:
        await keeper.add([page("t1")], Axes())
        await keeper.claim("t1", "me")
        for status in (S.RUNNING, S.VERIFYING, S.DONE):
            await keeper.move("t1", status, f"to {status}", owner="me", scope="now")
        with pytest.raises(UsageError, match="this status is final"):
            await keeper.move("t1", S.TODO, "again")
        moves = [(m.before, m.after, m.reason, m.scope) for m in keeper.store.moves("t1")]
        assert moves == [
            (None, S.TODO, "added", ""),
            (S.TODO, S.RUNNING, "to running", "now"),
            (S.RUNNING, S.VERIFYING, "to verifying", "now"),
            (S.VERIFYING, S.DONE, "to done", "now"),
        ]

    keep(repo, work)


def test_a_task_keeps_everything_it_was_made_with(repo: Path) -> None:
    written = (
        "t1.md",
        "---\nid: t1\ntitle: T\ndepends_on: [t0]\nrisk: high\nintent: [a.py:1-9]\nverification: make\n---\nBody\n",
    )

    async def work(keeper: TaskKeeper) -> None:
        made = await keeper.add([page("t0"), written], Axes(), milestone="plan-1", max_retries=1)
        assert keeper.store.tasks() == made
        assert keeper.look().tasks == made
        assert (made[1].milestone, made[1].max_retries, made[1].axes) == ("plan-1", 1, Axes())

    keep(repo, work)
    row = next(iter(database(repo).execute("SELECT dependency_blockers, intent_claim FROM tasks WHERE id = 't1'")))
    assert row == ('["t0"]', "a.py:1-9")


def test_a_database_from_before_there_were_tasks_gets_them(repo: Path) -> None:
    path = locate(str(repo)).database
    os.makedirs(os.path.dirname(path))
    from quintet.adapters.sqlite import database as sqlite

    with open(os.path.join(sqlite.SQL_FOLDER, "0001_spine.sql")) as file:
        old = apsw.Connection(path)
        old.execute(file.read() + "; PRAGMA user_version = 1")
    lease = "INSERT INTO sessions (id, created, updated, summary, owner, owner_pid, lease_until) VALUES "
    old.execute(f"{lease} ('q5-1', '', '', '{{}}', 'somebody', 4711, 9e9)")
    with pytest.raises(StoreError, match="an older Quintet, which still runs session q5-1"):
        connect(path)
    old.execute("UPDATE sessions SET owner = ''")
    added(repo, page("t1"))
    assert old.execute("SELECT id FROM sessions").fetchall() == [("q5-1",)]


# ── files


def test_s4_a_task_goes_from_todo_to_done_to_verified(repo: Path) -> None:
    async def work(keeper: TaskKeeper) -> list[list[str]]:
        await keeper.add([page("task-001"), page("task-002")], Axes())
        seen = [todo(repo)]
        for status in (S.RUNNING, S.VERIFYING, S.REVIEWING, S.DONE):
            await keeper.move("task-001", status, "")
            seen.append(todo(repo))
        assert keeper.look().drifts == []
        return seen

    assert keep(repo, work, FrozenClock()) == [
        ["task-001.md", "task-002.md"],
        ["task-001.md", "task-002.md"],
        ["done/task-001_20260101_000000.md", "task-002.md"],
        ["done/task-001_20260101_000000.md", "task-002.md"],
        ["done/verified/task-001_20260101_000000.md", "task-002.md"],
    ]


def test_task_files_stay_out_of_the_projects_history(repo: Path) -> None:
    (repo / ".quintet").mkdir()
    (repo / ".quintet" / ".gitignore").write_text("mine")
    added(repo, page("t1"))
    TaskInput(TaskFolder(str(repo), ""), str(repo.parent / "mark")).save("half a thought")
    seen = subprocess.run(["git", "status", "--short", "-uall"], cwd=repo, capture_output=True, text=True).stdout
    assert seen == "?? .quintet/.gitignore\n"
    assert (repo / ".quintet" / ".gitignore").read_text() == "mine\ntodo/\ntask.md\n"


@pytest.mark.parametrize("there", ["", "todo/\ntask.md\n"], ids=["none", "of an earlier version"])
def test_git_status_does_not_show_the_folder_unless_there_is_something_of_the_users_in_it(
    repo: Path, there: str
) -> None:
    if there:
        (repo / ".quintet").mkdir()
        (repo / ".quintet" / ".gitignore").write_text(there)
    TaskInput(TaskFolder(str(repo), ""), str(repo.parent / "mark")).save("half a thought")
    status = ("git", "status", "--short", "-uall")
    assert subprocess.run(status, cwd=repo, capture_output=True, text=True).stdout == ""
    (repo / ".quintet" / "settings.toml").write_text("")
    seen = subprocess.run(status, cwd=repo, capture_output=True, text=True).stdout
    assert seen == "?? .quintet/settings.toml\n"


def test_the_folders_gitignore_is_no_program(repo: Path) -> None:
    added(repo, page("t1"))
    assert not os.access(repo / ".quintet" / ".gitignore", os.X_OK)


def test_a_cancelled_tasks_file_goes_to_its_run(repo: Path) -> None:
    async def work(keeper: TaskKeeper) -> None:
        await keeper.add([page("t1"), page("t2")], Axes())
        task, _ = await keeper.move("t1", S.CANCELLED, "not wanted", run="run-7")
        assert task.path == f"{locate(str(repo)).runs}/run-7/t1.md"
        assert Path(task.path).read_text() == page("t1")[1]
        assert todo(repo) == ["t2.md"]
        assert keeper.look().drifts == []

    keep(repo, work)


def test_a_name_that_is_taken_in_done_gets_a_number(repo: Path) -> None:
    taken = "t1_20260101_000000.md"

    async def work(keeper: TaskKeeper) -> None:
        await keeper.add([page("t1")], Axes())
        done = repo / ".quintet" / "todo" / "done"
        done.mkdir()
        (done / taken).write_text("somebody's own")
        await keeper.move("t1", S.RUNNING, "")
        task, _ = await keeper.move("t1", S.VERIFYING, "")
        assert task.path == "done/t1_20260101_000000-2.md"
        assert (done / taken).read_text() == "somebody's own"
        assert sorted(todo(repo)) == sorted([f"done/{taken}", task.path])

    keep(repo, work, FrozenClock())


def test_s4_a_file_that_comes_back_from_done_has_its_own_name_again_and_one_without_a_time_is_still_known(
    repo: Path,
) -> None:
    added(repo, page("t1"), page("t2"))
    folder = repo / ".quintet" / "todo"

    async def work(keeper: TaskKeeper) -> None:
        for status, name in (
            (S.RUNNING, "t1.md"),
            (S.VERIFYING, "done/t1_20260101_000000.md"),
            (S.RETRYING, "t1.md"),
        ):
            task, _ = await keeper.move("t1", status, "")
            assert task.path == name and (folder / name).exists()
        (folder / "done" / "t2.md").write_text(page("t2")[1])  # as an earlier version left it
        (folder / "t2.md").unlink()
        await keeper.store.amend_task(structs.replace(keeper.find("t2"), path="done/t2.md"))
        assert keeper.look().drifts == [] and "- t2.md:" in keeper.summary()

    keep(repo, work, FrozenClock())


def test_a_file_that_a_crash_left_behind_gets_the_name_its_row_says(repo: Path) -> None:
    added(repo, page("t1"))
    folder = repo / ".quintet" / "todo"

    async def moved(keeper: TaskKeeper) -> str:
        await keeper.move("t1", S.RUNNING, "")
        task, _ = await keeper.move("t1", S.VERIFYING, "")
        (folder / task.path).rename(folder / "t1.md")  # the row was written, the file not yet moved
        return task.path

    async def mended(keeper: TaskKeeper) -> list[str]:
        return await keeper.mend(keeper.look().drifts)

    path = keep(repo, moved)
    assert keep(repo, mended) == [f"moved t1.md to {path}"] and todo(repo) == [path]


def test_s3_9_2_a_failed_task_that_is_put_back_to_todo_starts_its_retries_anew(repo: Path) -> None:
    added(repo, page("t1"))

    async def work(keeper: TaskKeeper) -> list[int]:
        path = (S.RUNNING, S.RETRYING, S.TODO, S.RUNNING, S.RETRYING, S.FAILED, S.TODO)
        seen = [(await keeper.move("t1", status, ""))[0].retries for status in path]
        return [*seen, keeper.find("t1").retries]

    assert keep(repo, work) == [0, 1, 1, 1, 2, 2, 0, 0]


def test_s3_9_2_a_budget_is_its_pages_and_follows_an_edit(repo: Path) -> None:
    name, text = page("t1")
    added(repo, (name, text.replace("title", "cost_budget: 0.5\ntitle")))

    async def work(keeper: TaskKeeper) -> None:
        assert keeper.find("t1").cost_budget == 0.5
        (repo / ".quintet/todo/t1.md").write_text(text.replace("title", "cost_budget: 2\ntitle"))
        assert keeper.look().tasks[0].cost_budget == 2.0
        await keeper.move("t1", S.RUNNING, "")

    keep(repo, work)
    assert rows(repo, "SELECT cost_budget FROM tasks") == [(2.0,)]


def test_s3_9_2_what_is_due_and_how_full_the_context_is_stand_in_their_columns(repo: Path) -> None:
    added(repo, page("t1"))

    async def work(keeper: TaskKeeper) -> None:
        await keeper.due("t1", 90.0)
        await keeper.claim("t1", "me", model="native")
        await keeper.beat("t1", "me", "native", 12.5)
        await keeper.move("t1", S.RUNNING, "unit 1", owner="me", scope="for-next-unit")
        assert keeper.find("t1").next_action == ""  # what was due is done
        await keeper.due("t1", 90.0)

    keep(repo, work, FrozenClock())
    assert rows(repo, "SELECT next_action_at FROM tasks") == [("2026-01-01T00:01:30.000Z",)]
    assert rows(repo, "SELECT context_usage_percent FROM task_runtime") == [(12.5,)]
    assert rows(repo, "SELECT to_status, scope FROM task_transitions") == [("todo", None), ("running", "for-next-unit")]


def rows(repo: Path, query: str) -> list[Any]:
    return list(database(repo).execute(query))


def test_findings_come_back_with_the_file(repo: Path) -> None:
    async def work(keeper: TaskKeeper) -> None:
        await keeper.add([page("t1", body="Do it.\n")], Axes())
        await keeper.move("t1", S.RUNNING, "")
        await keeper.move("t1", S.VERIFYING, "")
        task, _ = await keeper.move("t1", S.RETRYING, "a test fails", findings="## Findings\n\ntest_a fails")
        assert task.retries == 1
        assert task.text.body == "Do it.\n\n## Findings\n\ntest_a fails\n"
        assert (repo / ".quintet/todo/t1.md").read_text() == page("t1")[1] + "\n## Findings\n\ntest_a fails\n"
        assert keeper.look().tasks == [task]

    keep(repo, work)


def test_an_edited_file_says_what_the_task_is_now(repo: Path) -> None:
    added(repo, page("t1"), page("t2"))
    (repo / ".quintet/todo/t1.md").write_text(page("t1", "t2", title="Another title")[1])

    async def work(keeper: TaskKeeper) -> None:
        looked = keeper.look()
        assert [(t.title, t.depends_on) for t in looked.tasks] == [("Another title", ("t2",)), ("Do t2", ())]
        await keeper.move("t2", S.RUNNING, "")
        assert keeper.find("t1").title == "Another title"
        (repo / ".quintet/todo/t2.md").write_text(page("t2", title="While it runs")[1])
        assert (await keeper.move("t2", S.VERIFYING, ""))[0].title == "While it runs"
        (repo / ".quintet/todo" / keeper.find("t2").path).write_text("---\nid: t2\n---\n")
        assert (await keeper.move("t2", S.DONE, ""))[0].title == "While it runs"
        assert untimed([bad.path for bad in keeper.look().bad_pages]) == ["done/verified/t2.md"]

    keep(repo, work)


# ── adding


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ([page("a"), ("b.md", "no front matter")], "b.md: line 1: no front matter"),
        ([page("a"), page("a")], "the id a appears twice"),
        ([page("a"), page("there")], "the id there appears twice"),
        ([page("a", "b"), page("b", "a")], "these depend on each other: a → b → a"),
        ([page("a", "gone")], "a depends on gone, which does not exist"),
    ],
)
def test_either_all_are_added_or_none(repo: Path, pages: list[tuple[str, str]], said: str) -> None:
    added(repo, page("there"))

    async def work(keeper: TaskKeeper) -> None:
        with pytest.raises(UsageError, match=re.escape(said)):
            await keeper.add(pages, Axes())
        assert [task.id for task in keeper.store.tasks()] == ["there"]
        assert todo(repo) == ["there.md"]

    keep(repo, work)


def test_a_todo_folder_that_leads_elsewhere_is_not_used(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repo / ".quintet").mkdir()
    (repo / ".quintet" / "todo").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="leads elsewhere"):
        added(repo, page("t1"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


# ── drift


def test_each_drift_is_found_and_has_one_fix(repo: Path) -> None:
    added(repo, *(page(f"t{n}") for n in range(1, 6)))
    folder = repo / ".quintet" / "todo"
    (folder / "t1.md").unlink()
    (folder / "done").mkdir()
    (folder / "t2.md").rename(folder / "done" / "t2.md")
    (folder / "t3.md").write_text((folder / "t3.md").read_text().replace("id: t3", "id: other  # mine"))
    (folder / "copy.md").write_text((folder / "t4.md").read_text())
    (folder / "new.md").write_text(page("new")[1])
    (folder / "done" / "old.md").write_text(page("old")[1])
    (folder / "broken.md").write_text("---\nid: x\nrisk: huge\n---\n")
    (folder / "notes.txt").write_text("not a task")

    async def work(keeper: TaskKeeper) -> None:
        looked = keeper.look()
        assert {(drift.kind, drift.task, drift.path) for drift in looked.drifts} == {
            (DriftKind.ROW_WITHOUT_FILE, "t1", "t1.md"),
            (DriftKind.WRONG_FOLDER, "t2", "done/t2.md"),
            (DriftKind.EDITED_ID, "t3", "t3.md"),
            (DriftKind.SECOND_FILE, "t4", "copy.md"),
            (DriftKind.FILE_WITHOUT_ROW, "new", "new.md"),
            (DriftKind.FILE_WITHOUT_ROW, "old", "done/old.md"),
        }
        assert [str(bad) for bad in looked.bad_pages] == [
            'broken.md: line 1, title: is missing; broken.md: line 3, risk: "huge" is not one of low, medium, high.'
        ]
        assert sorted(await keeper.mend(looked.drifts)) == [
            "added done/old.md as task old, verifying",
            "added new.md as task new, todo",
            "moved done/t2.md to t2.md",
            "wrote t1.md again",
            "wrote the id t3 into t3.md again",
        ]
        again = keeper.look()
        assert [drift.kind for drift in again.drifts] == [DriftKind.SECOND_FILE]
        assert again.changed == []
        assert {t.id: t.status for t in again.tasks} == {
            **{f"t{n}": S.TODO for n in range(1, 6)},
            "new": S.TODO,
            "old": S.VERIFYING,
        }

    keep(repo, work)
    assert (folder / "t1.md").read_text() == page("t1")[1]
    assert (folder / "broken.md").read_text() == "---\nid: x\nrisk: huge\n---\n"


def test_a_task_whose_file_is_gone_can_still_be_moved_and_is_written_again(repo: Path) -> None:
    added(repo, page("t1"))
    (repo / ".quintet/todo/t1.md").unlink()

    async def work(keeper: TaskKeeper) -> None:
        await keeper.move("t1", S.RUNNING, "")
        await keeper.move("t1", S.VERIFYING, "")
        assert keeper.look().drifts == []

    keep(repo, work)
    (name,) = todo(repo)
    assert untimed([name]) == ["done/t1.md"] and (repo / ".quintet/todo" / name).read_text() == page("t1")[1]


def test_a_task_that_does_not_exist_is_said_with_the_nearest(repo: Path) -> None:
    added(repo, page("task-001"))

    async def work(keeper: TaskKeeper) -> None:
        with pytest.raises(NotFound, match=r"there is no task task-01\. Did you mean task-001\?"):
            await keeper.move("task-01", S.RUNNING, "")

    keep(repo, work)


# ── claims


def test_two_quintets_on_one_project_do_not_get_the_same_task(repo: Path) -> None:
    added(repo, *(page(f"t{n}") for n in range(6)))

    async def worker(name: str) -> list[str]:
        got = []
        async with keeping(repo) as keeper:
            while task := next_task(keeper.look().tasks):
                try:
                    await keeper.claim(task.id, name)
                    await keeper.move(task.id, S.RUNNING, name, owner=name)
                except (TaskTaken, UsageError):
                    continue
                got.append(task.id)
        return got

    async def both() -> list[list[str]]:
        return list(await asyncio.gather(worker("one"), worker("two")))

    one, two = asyncio.run(both())
    assert sorted(one + two) == [f"t{n}" for n in range(6)]


def test_only_the_one_who_claimed_a_task_moves_it(repo: Path) -> None:
    async def both() -> None:
        async with keeping(repo) as one, keeping(repo) as two:
            await one.add([page("t1")], Axes())
            claim = await one.claim("t1", "one")
            with pytest.raises(TaskTaken, match="another process is working on task"):
                await two.claim("t1", "two")
            with pytest.raises(TaskTaken, match=f"in process {os.getpid()}"):
                await two.move("t1", S.RUNNING, "")
            with pytest.raises(TaskTaken, match="another process is working on it"):
                await two.move("t1", S.RUNNING, "", owner="two")
            await one.claim("t1", "one")  # the heartbeat
            await one.move("t1", S.RUNNING, "", owner="one")
            await one.move("t1", S.TODO, "/stop", owner="one")
            assert two.store.claims() == {}, "a task that is not at work is claimed by nobody"
            with pytest.raises(TaskTaken, match="the claim on it was released"):
                await one.move("t1", S.RUNNING, "", owner="one")
            await two.claim("t1", "two")
            await one.release(claim)
            assert two.holder("t1"), "what another has claimed is not let go of"

    asyncio.run(both())


def test_the_task_of_a_dead_process_goes_to_one_of_those_who_want_it(repo: Path) -> None:
    async def both() -> None:
        async with keeping(repo) as one, keeping(repo) as two:
            await one.add([page("t1")], Axes())
            now = time.time()
            assert await one.store.claim_task(Claim("t1", "gone", 4_194_300, "1", now + 1000), now)
            assert one.holder("t1") is None
            wanted = await asyncio.gather(one.claim("t1", "one"), two.claim("t1", "two"), return_exceptions=True)
            assert sum(isinstance(claim, Claim) for claim in wanted) == 1
            assert sum(isinstance(claim, TaskTaken) for claim in wanted) == 1

    asyncio.run(both())


def test_no_time_takes_a_claim_from_a_process_that_lives(repo: Path) -> None:
    clock = FrozenClock()

    async def both() -> None:
        async with keeping(repo, clock) as one, keeping(repo, clock) as two:
            await one.add([page("t1")], Axes())
            await one.claim("t1", "one")
            for seconds in (-3600, 7200, 86_400):
                await clock.sleep(seconds)
                with pytest.raises(TaskTaken):
                    await two.claim("t1", "two")

    asyncio.run(both())


def test_a_claim_of_a_process_that_cannot_be_seen_from_here_lapses_without_a_heartbeat(repo: Path) -> None:
    clock = FrozenClock()

    async def both() -> None:
        async with (
            keeping(repo, clock, lambda pid: "boot/1/9") as one,
            keeping(repo, clock, lambda _: "boot/2/9") as two,
        ):
            await one.add([page("t1")], Axes())
            await one.claim("t1", "one")
            await clock.sleep(LEASE_SECONDS - 1)
            with pytest.raises(TaskTaken):
                await two.claim("t1", "two")
            await one.claim("t1", "one")
            await clock.sleep(LEASE_SECONDS - 1)
            with pytest.raises(TaskTaken):
                await two.claim("t1", "two")
            await clock.sleep(2)
            await two.claim("t1", "two")

    asyncio.run(both())


# ── what is told of finished tasks, and what is being written


def test_s4_finished_tasks_are_told_oldest_first_by_their_first_five_lines(repo: Path) -> None:
    clock = FrozenClock()

    async def work(keeper: TaskKeeper) -> str:
        for id, body in (("b", "1\n2\n3\n4\n5\n"), ("a", "\n1\n2\n3\n4\n5\n6\n"), ("open", "not yet"), ("bare", "")):
            await keeper.add([page(id, body=body)], Axes())
            await clock.sleep(1)
        for id in ("a", "b", "bare"):
            await keeper.move(id, S.RUNNING, "")
            await keeper.move(id, S.VERIFYING, "")
        await keeper.move("b", S.DONE, "")
        return summarise(keeper.look().tasks)

    told = keep(repo, work, clock)
    assert told == "- b.md:\n1\n2\n3\n4\n5\n\n- a.md:\n1\n2\n3\n4\n5\n...\n\n- bare.md:\nDo bare"


def test_s4_what_is_being_written_is_saved_given_back_and_cleared(repo: Path) -> None:
    own = TaskInput(TaskFolder(str(repo), ""), str(repo.parent / "mark"))
    assert own.restore() == ""
    own.save("Fix the\nparser ✓")
    assert TaskInput(TaskFolder(str(repo), ""), str(repo.parent / "mark")).restore() == "Fix the\nparser ✓"
    own.clear()
    own.clear()
    assert own.restore() == ""
    assert not (repo / ".quintet/task.md").exists()


def test_s4_an_input_file_is_read_and_never_written(repo: Path) -> None:
    given = repo / "plan.md"
    given.write_text("Do this.\n")
    before = given.stat()
    assert read_input(str(given)) == "Do this.\n"
    assert given.stat()[:-3] == before[:-3] and given.stat().st_mtime_ns == before.st_mtime_ns
    assert not (repo / ".quintet").exists()
    for bad, said in (("gone.md", "cannot be read"), ("tally", "cannot be read")):
        with pytest.raises(UsageError, match=said):
            read_input(str(repo / bad))
    given.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="byte 0 is not UTF-8"):
        read_input(str(given))


def test_a_pipe_in_a_folder_and_an_endless_device_are_no_input_and_a_shells_own_pipe_is(repo: Path) -> None:
    os.mkfifo(repo / "pipe")
    (repo / "link").symlink_to("pipe")
    for bad, said in (("pipe", "a pipe"), ("link", "a pipe"), ("/dev/zero", "more than 1,000,000 bytes")):
        with pytest.raises(UsageError, match=said):
            read_input(str(repo / bad))
    ours, theirs = os.pipe()
    os.write(theirs, b"Do this.\n")
    os.close(theirs)
    assert read_input(f"/dev/fd/{ours}") == "Do this.\n"
    os.close(ours)
