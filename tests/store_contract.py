"""What every store of a project promises, whatever database it is on: the tests of the port, run for each of them.

A file of tests imports all of this and brings the fixture `stores`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import pytest
from msgspec import structs

from quintet.adapters.processes.system import SystemClock
from quintet.domain.base.errors import LeaseLost, NotFound, StoreError, TaskTaken, UsageError
from quintet.domain.dials.axes import Axes, Surface
from quintet.domain.journal.protocol import (
    CallDecided,
    Event,
    InputReceived,
    ModelReplied,
    Noticed,
    Say,
    Submitted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    UserMessaged,
    encode,
)
from quintet.domain.journal.store_rows import Batch, Lease, SessionRow, Unreadable
from quintet.domain.permission.effects import Grant
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.ports.stores import Hits, ProjectStore, StoredRows, StoredTasks
from quintet.domain.ports.tasks import Claim
from quintet.domain.ports.workers import TaskBranch, Worker, WorkerState
from quintet.domain.tasks.task import Intent, Task, TaskMove, TaskStatus, TaskText
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.session.leases import LEASE_SECONDS, owner_lives

AT = "2026-01-01T00:00:00.000Z"
NOTICED = Noticed(level="info", code="", text="")
CONTENT = "".join(f"line {number} of a file\n" for number in range(500))
ARGUMENTS = json.dumps({"file_path": "a.py", "content": CONTENT})


class Stores(Protocol):
    """One project's state on one database."""

    def open(self) -> ProjectStore:
        """As one more process would."""

    def rows(self) -> StoredRows: ...

    def tasks(self) -> StoredTasks: ...

    def search(self, *words: str) -> Hits: ...

    def contents(self) -> int:
        """How many long texts are stored."""

    def spoil_submission(self, id: str) -> None:
        """Make a submission one that cannot be read."""


def lease(owner: str, number: int = 1, session: str = "q5-1", until: float | None = None) -> Lease:
    end = SystemClock().uptime() + LEASE_SECONDS if until is None else until
    return Lease(session, owner, 1, "", end, number)


def row(session: str = "q5-1", parent: str = "", forked_after: int = 0) -> SessionRow:
    return SessionRow(session, AT, AT, parent, forked_after, "", b"{}", "", 0, "", 0.0)


def batch(held: Lease | None = None, *events: Event, **more: Any) -> Batch:
    written = [(type(e).__struct_config__.tag, encode(e)) for e in events or (NOTICED,)]
    return Batch(held, written, more.pop("at", AT), more.pop("summary", b"{}"), **more)  # type: ignore[arg-type]


def said(id: str, text: str = "hello") -> Submitted:
    return Submitted(id, Say(text=text), Surface.RPC)


def use(stores: Stores, work: Callable[..., Awaitable[None]], openings: int = 1) -> None:
    """Open the store as so many processes, and close it again."""

    async def run() -> None:
        opened = [stores.open() for _ in range(openings)]
        try:
            await work(*opened)
        finally:
            for store in opened:
                await store.close()

    asyncio.run(run())


# ── the fence


def test_who_lost_a_session_writes_nothing_more_even_after_the_thief_has_left(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        first, second = lease("first"), lease("second", 2)
        await store.create(row(), batch(first))
        seen = store.session("q5-1")
        assert seen
        assert await store.take_lease(second, seen)
        assert store.holds(second)
        assert not store.holds(first)
        await store.release(second)
        assert not await store.renew_lease(first)
        with pytest.raises(LeaseLost):
            await store.append("q5-1", batch(first))
        await store.release(first)
        assert store.count("q5-1") == 1

    use(stores, run)


def test_an_owner_of_the_same_name_with_an_older_number_is_refused(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        await store.create(row(), batch(lease("me")))
        seen = store.session("q5-1")
        assert seen
        assert await store.take_lease(lease("me", 2), seen)
        with pytest.raises(LeaseLost):
            await store.append("q5-1", batch(lease("me", 1)))
        await store.append("q5-1", batch(lease("me", 2)))

    use(stores, run)


def test_of_two_who_saw_the_same_owner_go_one_gets_the_session(stores: Stores) -> None:
    async def run(one: ProjectStore, two: ProjectStore) -> None:
        await one.create(row(), batch(lease("gone")))
        seen, too = one.session("q5-1"), two.session("q5-1")
        assert seen
        assert too
        assert await one.take_lease(lease("one", 2), seen)
        assert not await two.take_lease(lease("two", 2), too)
        await one.append("q5-1", batch(lease("one", 2)))

    use(stores, run, 2)


def test_a_heartbeat_after_the_look_keeps_the_session(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        now = SystemClock().uptime()
        await store.create(row(), batch(lease("slow", until=now + 10)))
        seen = store.session("q5-1")
        assert seen
        assert await store.renew_lease(lease("slow", until=now + 25))
        assert not await store.take_lease(lease("thief", 2), seen)

    use(stores, run)


def test_a_lease_that_was_given_back_is_there_to_be_taken(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        await store.create(row(), batch(lease("first")))
        await store.release(lease("first"))
        seen = store.session("q5-1")
        assert seen
        assert (seen.owner, seen.lease_number) == ("", 1)
        assert not owner_lives(seen, SystemClock().uptime(), lambda pid: "")
        assert await store.take_lease(lease("next", 2), seen)

    use(stores, run)


def test_the_end_of_a_lease_is_read_on_the_clock_it_was_written_on(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        until = SystemClock().uptime() + 600
        await store.create(row(), batch(lease("me", until=until)))
        seen = store.session("q5-1")
        assert seen
        assert abs(seen.lease_until - until) < 60

    use(stores, run)


# ── the journal


def test_events_are_numbered_in_the_order_they_were_written_whoever_writes(stores: Stores) -> None:
    async def run(one: ProjectStore, two: ProjectStore) -> None:
        await one.create(row("a"), batch())
        await two.create(row("b"), batch())
        many = [store.append(name, batch(None, NOTICED, NOTICED)) for store, name in ((one, "a"), (two, "b"))]
        many += [one.append("a", batch()), two.append("b", batch())]
        numbers = [number for written in await asyncio.gather(*many) for number in written]
        assert sorted(numbers) == list(range(3, 9))
        assert [recorded.seq for recorded in one.read("a")] == sorted(
            set(range(1, 9)) - {recorded.seq for recorded in two.read("b")}
        )

    use(stores, run, 2)


def test_a_write_that_fails_takes_no_other_down(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        await store.create(row(), batch(lease("me")))
        writes = [
            store.append("q5-1", batch(lease("me"))),
            store.append("q5-1", batch(lease("thief", 7))),
            store.append("q5-1", batch(lease("me"), consumed="never-submitted")),
            store.append("q5-1", batch(lease("me"))),
        ]
        done = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(one) for one in done] == [list, LeaseLost, StoreError, list]
        assert store.count("q5-1") == 3

    use(stores, run)


def test_a_session_is_read_by_numbers_and_types_and_a_fork_begins_with_its_parents_events(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        first = [UserMessaged(call="c", text="one"), NOTICED, UserMessaged(call="c", text="two")]
        await store.create(row("a"), batch(None, *first))
        await store.append("a", batch(None, TurnFinished(turn="t", status=EndStatus.DONE)))
        await store.create(row("b", "a", 2), batch(None, UserMessaged(call="c", text="three")))
        assert [one.event for one in store.read("a", 1, 3)] == first[1:]
        assert [one.event for one in store.read("a", kinds=["user_messaged"])] == [first[0], first[2]]
        assert [one.seq for one in store.read("b")] == [1, 2, 5]
        assert [name for name, _ in store.read_everywhere(["user_messaged"])] == ["a", "a", "b"]
        assert store.last_of_type("b", "noticed") == 2
        assert (store.last_seq("a"), store.last_seq("b"), store.last_seq("none")) == (4, 5, 0)
        assert (store.count("b"), store.session("none")) == (1, None)
        with pytest.raises(UsageError, match="forks"):
            await store.purge("a")

    use(stores, run)


def test_whoever_looks_sees_that_somebody_wrote(stores: Stores) -> None:
    async def run(one: ProjectStore, two: ProjectStore) -> None:
        await one.create(row(), batch())
        for number in range(3):
            await _settled(two)
            before = two.data_version()
            await one.submit("q5-1", said(f"in-{number}"), AT)
            async with asyncio.timeout(60):
                while two.data_version() == before:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert len(two.inbox("q5-1")) == number + 1

    use(stores, run, 2)


async def _settled(store: ProjectStore) -> None:
    """Wait until what was written before has been noticed."""
    same, seen = 0, -1
    while same < 10:
        same, seen = (same + 1, seen) if store.data_version() == seen else (0, store.data_version())
        await asyncio.sleep(0.01)


def test_a_title_that_no_database_would_take_is_stored(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        event = UserMessaged(call="c", text='a\0b 🙂 "é\\u0000" \u2028' + "long \0 " * 200)
        await store.create(row(), batch(None, structs.replace(event), title="ä\0b 🙂"))
        assert store.read("q5-1")[0].event == event
        found = store.session("q5-1")
        assert found
        assert found.title.startswith("ä")

    use(stores, run)


# ── submissions


def test_a_submission_is_accepted_once_and_consumed_with_what_came_of_it(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        await store.create(row(), batch(lease("me")))
        await store.create(row("other"), batch())
        assert await store.submit("q5-1", said("in-1"), AT) == 1
        assert await store.submit("q5-1", said("in-2"), AT) == 1
        await store.append("q5-1", batch(lease("me")))
        assert await store.submit("q5-1", said("in-1"), AT) == 1
        assert [one.id for one in store.inbox("q5-1")] == ["in-1", "in-2"]
        with pytest.raises(UsageError, match="belongs to another input"):
            await store.submit("q5-1", said("in-1", "something else"), AT)
        with pytest.raises(UsageError, match="in session q5-1"):
            await store.submit("other", said("in-1"), AT)
        await store.append("q5-1", batch(lease("me"), consumed="in-1"))
        with pytest.raises(StoreError, match="consumed before"):
            await store.append("q5-1", batch(lease("me"), consumed="in-1"))
        assert await store.submit("q5-1", said("in-1"), AT) == 1
        assert [one.id for one in store.inbox("q5-1")] == ["in-2"]

    use(stores, run)


def test_a_submission_that_cannot_be_read_stays_and_is_named(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        await store.create(row(), batch())
        await store.submit("q5-1", said("in-1"), AT)
        stores.spoil_submission("in-1")
        (found,) = store.inbox("q5-1")
        assert isinstance(found, Unreadable)
        assert found.id == "in-1"

    use(stores, run)


# ── long texts


def test_a_text_that_several_events_hold_is_stored_once_and_goes_with_the_last_of_them(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        started = ToolStarted(call="call-1", turn="turn-1", tool="Write", arguments=ARGUMENTS)
        finished = ToolFinished(call="call-1", tool="Write", status=CallStatus.OK, content=CONTENT)
        own = UserMessaged(call="c", text="only here " * 200)
        await store.create(row("one"), batch(None, started, started, finished, own))
        await store.create(row("two"), batch(None, started, finished))
        assert stores.contents() == 3
        assert [one.event for one in store.read("one")] == [started, started, finished, own]
        assert [one for _, one in store.read_everywhere(["tool_finished"])] == [finished, finished]
        await store.purge("one")
        assert stores.contents() == 2
        assert [one.event for one in store.read("two")] == [started, finished]
        assert store.session("one") is None
        await store.purge("two")
        assert stores.contents() == 0
        assert await store.create(row("three"), batch()) == [7], "no number is given twice"

    use(stores, run)


# ── looking


def test_what_commands_look_up_is_there_without_a_session(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        decided = CallDecided(
            call="c",
            tool="bash",
            arguments="{}",
            verdict=Verdict.ALLOW,
            reason="",
            effects=(),
            grant=Grant(),
            axes=Axes(),
            person=False,
            sandbox=Sandbox.NONE,
            rule="rule-1",
        )
        cost = ModelReplied(step="s", text="", cost=0.25)
        at = "2026-01-02T00:00:00.000Z"
        await store.create(row("q5-abc"), batch(None, decided, summary=b'{"cost":1.5}', title="first"))
        await store.create(row("q5-abd", "q5-abc", 1), batch(None, cost, at=at, summary=b'{"cost":1.75}'))
        await store.append("q5-abd", batch(None, decided, at=at, opens=[("question-1", '{"text":"May I?"}')]))
        cost_so_far = {"summary": b'{"cost":1.5}'}
        await store.append("q5-abc", batch(None, opens=[("question-2", '{"text":"And this?"}')], **cost_so_far))
        await store.append("q5-abc", batch(None, closes=[("question-2", "yes")], **cost_so_far))

    use(stores, run)
    rows = stores.rows()
    assert [one.id for one in rows.sessions()] == ["q5-abd", "q5-abc"]
    assert [one.id for one in rows.sessions(1)] == ["q5-abd"]
    assert rows.find_session("q5-abc").title == "first"
    assert rows.find_session("q5-abd").parent == "q5-abc"
    with pytest.raises(UsageError, match="more than one"):
        rows.find_session("q5-ab")
    with pytest.raises(NotFound):
        rows.find_session("q5-x")
    assert rows.open_questions() == [("question-1", "May I?", "q5-abd")]
    assert rows.rules_used() == {"rule-1": ("2026-01-02T00:00:00.000Z", 2)}
    assert rows.project_cost() == pytest.approx(1.75)
    assert rows.event(2)[0] == "q5-abd"
    with pytest.raises(NotFound):
        rows.event(99)
    assert (rows.newest_seq(), rows.at(2), rows.at(99)) == (5, "2026-01-02T00:00:00.000Z", "")
    assert rows.moment_of_last("q5-abd", "call_decided") == "2026-01-02T00:00:00.000Z"
    assert [one.seq for one in rows.read_project(["call_decided"], 0, since="2026-01-02")] == [3]
    assert [name for name, _ in rows.read_of_sessions(["call_decided"], 1)] == ["q5-abd"]
    assert [one.seq for one in rows.pieces("q5-abd")] == [1, 2, 3]
    assert not rows.has_tasks()
    rows.read_through()
    rows.close()


def test_the_journal_is_searched_by_words_phrases_and_beginnings(stores: Stores) -> None:
    texts = ("Tidy the Café in src/quintet/app_store.py", "fix the build\nthe second line has tidy things", "nothing")

    async def run(store: ProjectStore) -> None:
        told = [InputReceived(submission=f"in-{n}", text=text, surface=Surface.RPC) for n, text in enumerate(texts)]
        await store.create(row(), batch(None, *told, title="about"))

    use(stores, run)
    for words, expected in (
        (("tidy",), [2, 1]),
        (("cafe",), [1]),
        (("CAFÉ", "tidy"), [1]),
        (("quint*",), [1]),
        (("app store",), [1]),
        (("store app",), []),
        (("second line",), [2]),
        (("tidy", "absent"), []),
    ):
        found = stores.search(*words)
        assert [hit.seq for hit in found.hits] == expected, words
        assert found.found == len(expected)
    (hit,) = stores.search("second line").hits
    assert (hit.line, hit.title, hit.what) == ("the second line has tidy things", "about", "you")
    (hit,) = stores.search("cafe").hits
    assert [hit.line[a:b] for a, b in hit.matches] == ["Café"]

    async def more(store: ProjectStore) -> None:
        await store.append("q5-1", batch(None, UserMessaged(call="c", text="tidy again")))
        await store.create(row("q5-2"), batch(None, UserMessaged(call="c", text="tidy too")))
        await store.purge("q5-2")

    use(stores, more)
    assert [hit.seq for hit in stores.search("tidy").hits] == [4, 2, 1]


# ── tasks


def task(id: str, status: TaskStatus = TaskStatus.TODO, **more: Any) -> Task:
    return Task(TaskText(id, f"Do {id}", body="long \0 text"), status, created=AT, path=f"{id}.md", stamp="1", **more)


def claim(task: str, owner: str, **more: Any) -> Claim:
    return Claim(task, owner, 4711, "boot/space/1", SystemClock().uptime() + LEASE_SECONDS, AT, **more)


def test_tasks_are_added_whole_or_not_at_all(stores: Stores) -> None:
    async def run(store: ProjectStore) -> None:
        tasks = store.task_store()
        added = [task("a", milestone="m"), task("b", cost_spent=0.5)]
        await tasks.add_tasks(added, "planned")
        with pytest.raises(UsageError, match="task a already exists"):
            await tasks.add_tasks([task("c"), task("a")], "again")
        assert tasks.tasks() == added
        assert tasks.task("b") == added[1]
        assert tasks.task("c") is None
        assert [(one.before, one.after, one.reason) for one in tasks.moves("a")] == [(None, TaskStatus.TODO, "planned")]

    use(stores, run)
    rows = stores.tasks()
    assert [one.id for one in rows.tasks()] == ["a", "b"]
    rows.close()
    looked = stores.rows()
    assert looked.has_tasks()
    looked.close()


def test_a_task_is_moved_by_whoever_claimed_it_and_once(stores: Stores) -> None:
    async def run(one: ProjectStore, two: ProjectStore) -> None:
        mine, theirs = one.task_store(), two.task_store()
        await mine.add_tasks([task("a")], "planned")
        assert await mine.claim_task(claim("a", "me", model="m", context=12.5)) == 1
        assert not await theirs.claim_task(claim("a", "they"))
        running = task("a", TaskStatus.RUNNING, started=AT)
        move = TaskMove("a", TaskStatus.TODO, TaskStatus.RUNNING, "begun", AT)
        with pytest.raises(TaskTaken, match="another process"):
            await theirs.move_task(running, move, "they")
        number = await mine.move_task(running, move, "me")
        with pytest.raises(TaskTaken, match="no longer todo"):
            await mine.move_task(running, move, "me")
        assert await mine.claim_task(claim("a", "me"))
        held = theirs.claims()["a"]
        assert (held.owner, held.owner_pid, held.model or "m", held.context) == ("me", 4711, "m", 12.5)
        assert held.lease_until == pytest.approx(SystemClock().uptime() + LEASE_SECONDS, abs=60)
        assert await theirs.claim_task(claim("a", "they"), "me"), "from one who is gone"
        assert theirs.claims()["a"].context is None
        done = task("a", TaskStatus.FAILED, retries=1)
        await theirs.move_task(done, TaskMove("a", TaskStatus.RUNNING, TaskStatus.FAILED, "no", AT, "s"), "they")
        assert theirs.claims() == {}
        assert [moved.number for moved in mine.moves("a")][1] == number
        assert [moved.after for moved in mine.moves("a")] == [TaskStatus.TODO, TaskStatus.RUNNING, TaskStatus.FAILED]
        await theirs.amend_task(structs.replace(done, next_action="2027-01-01", cost_spent=2.0))
        found = mine.task("a")
        assert found
        assert (found.next_action, found.cost_spent, found.retries) == ("2027-01-01", 2.0, 1)
        await mine.claim_task(claim("a", "me"))
        await mine.release_task("a", "they")
        assert "a" in mine.claims()
        await mine.release_task("a", "me")
        assert mine.claims() == {}

    use(stores, run, 2)


# ── workers


def worker(id: str, state: WorkerState = WorkerState.WORKING, **more: Any) -> Worker:
    until = SystemClock().uptime() + LEASE_SECONDS
    return Worker(id, "run-1", 4711, "boot/space/1", until, more.pop("began", AT), AT, state, **more)


def test_a_worker_that_is_told_to_stop_stays_so_until_it_has_ended(stores: Stores) -> None:
    async def run(one: ProjectStore, two: ProjectStore) -> None:
        mine, theirs = one.worker_store(), two.worker_store()
        await mine.put_worker(worker("w-1", task="a", cost=0.5))
        await theirs.put_worker(worker("w-2", began="2025-01-01"))
        assert [found.id for found in mine.workers()] == ["w-2", "w-1"]
        found = theirs.workers()[1]
        assert (found.task, found.cost, found.state) == ("a", 0.5, WorkerState.WORKING)
        assert found.lease_until == pytest.approx(SystemClock().uptime() + LEASE_SECONDS, abs=60)
        await theirs.stop_worker("w-1")
        await mine.put_worker(worker("w-1"))
        assert theirs.workers()[1].state is WorkerState.STOPPING
        for id in ("w-1", "w-2"):
            await mine.put_worker(worker(id, WorkerState.ENDED))
        await mine.forget_workers("2025-06-01")
        assert [found.id for found in theirs.workers()] == ["w-1"]

    use(stores, run, 2)


def test_symbols_are_claimed_with_their_lines_and_their_content(stores: Stores) -> None:
    async def run(one: ProjectStore, two: ProjectStore) -> None:
        mine, theirs, tasks = one.worker_store(), two.worker_store(), one.task_store()
        await tasks.add_tasks([task("a"), task("b")], "planned")
        first = await tasks.claim_task(claim("a", "me"))
        other = await tasks.claim_task(claim("b", "they"))
        held = Intent("src/y.py", 3, 8, "Calc.add", "one")
        assert await mine.claim_paths("a", first, [held], AT) == ()
        assert theirs.path_claims() == {"a": (held,)}
        sub = Intent("src/y.py", 40, 48, "Calc.sub", "two")
        (moved,) = await theirs.claim_paths("b", other, [sub], AT)
        assert (moved.task, moved.path) == ("a", "src/y.py::Calc.sub")
        assert await theirs.claim_paths("b", other, [structs.replace(sub, content="one")], AT) == ()
        assert [str(claimed) for claimed in mine.path_claims()["b"]] == ["src/y.py::Calc.sub"]

    use(stores, run, 2)


def test_paths_and_branches_are_claimed_with_the_newest_number_only(stores: Stores) -> None:
    async def run(one: ProjectStore, two: ProjectStore) -> None:
        mine, theirs, tasks = one.worker_store(), two.worker_store(), one.task_store()
        await tasks.add_tasks([task("a"), task("b")], "planned")
        first = await tasks.claim_task(claim("a", "me"))
        other = await tasks.claim_task(claim("b", "they"))
        assert await mine.claim_paths("a", first, [Intent("src/x.py", 1, 9), Intent("docs")], AT) == ()
        (overlap,) = await theirs.claim_paths("b", other, [Intent("free.py"), Intent("src/x.py", 5, 20)], AT)
        assert overlap.task == "a"
        assert theirs.path_claims() == {"a": (Intent("docs"), Intent("src/x.py", 1, 9))}, "all of it or nothing"
        assert [(one.task, one.waits_for) for one in mine.waits()] == [("b", "a")]
        branch = TaskBranch("a", "quintet/a", "/w/a", "main", "c0ffee")
        await mine.put_branch(branch, first)
        assert tasks.in_worktrees() == {"a"}
        second = await tasks.claim_task(claim("a", "thief"), "me")
        assert second > first
        with pytest.raises(TaskTaken):
            await mine.put_branch(structs.replace(branch, base="late"), first)
        with pytest.raises(TaskTaken):
            await mine.claim_paths("a", first, [Intent("late.py")], AT)
        with pytest.raises(TaskTaken):
            await tasks.amend_task(task("a", cost_spent=9.0), first)
        (kept,) = theirs.branches().values()
        assert structs.replace(kept, machine="") == branch
        await tasks.release_task("a", "thief")
        assert theirs.path_claims() == {}
        await theirs.drop_branch("a")
        assert mine.branches() == {}

    use(stores, run, 2)


CONTRACT: Sequence[str] = [name for name in dir() if name.startswith("test_")]
