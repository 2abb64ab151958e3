"""Workers over a real book: sleep, clocks that are set, several at once, and what a killed one leaves."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quintet.domain.base.errors import StoreUnreachable, StoreUnwritable
from quintet.domain.ports.stores import SharedTables
from quintet.features.schedule import worker as workers
from quintet.features.schedule.book import ScheduleBook
from quintet.features.schedule.plan import LATER, MISSED, WAITS, DuePlan
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import KEPT, SqliteSchedules, TableSchedules
from quintet.features.schedule.values import DueRun, DueStatus, MissedRuns, RunResult, Schedule, ScheduleState
from quintet.features.schedule.worker import LEASE_SECONDS, LEFT, is_gone, this_worker
from tests.features.schedule.made import NOW, OWNER, Desk, opened, scheduled, work

HOUR = 3_600
DONE, EXPIRED, QUEUED = DueStatus.CONSUMED, DueStatus.EXPIRED, DueStatus.QUEUED


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def works(desk: Desk, name: str = "w1") -> None:
    asyncio.run(desk.worker(name).work(asyncio.Event(), once=True))


def test_what_is_due_runs_once_and_the_next_time_is_queued(desk: Desk) -> None:
    desk.add("every 1h", "a")
    works(desk)
    assert desk.started == [] and desk.runs() == [HOUR]
    desk.clock.at += HOUR + 5
    works(desk)
    works(desk)
    assert desk.started == [("w1", "a")]
    (run,) = desk.store.runs(DONE)
    assert (run.due_at, run.dispatched_at, run.exit_code, run.session, run.result) == (
        NOW + HOUR,
        NOW + HOUR + 5,
        0,
        "q5-1",
        "done",
    )
    assert [one.event for one in desk.events] == ["started", "ended"]
    assert desk.runs(QUEUED) == [2 * HOUR]


SLEPT = {  # over three due times → how many run, what expires
    MissedRuns.ONCE: ([3 * HOUR], [HOUR, 2 * HOUR]),
    MissedRuns.SKIP: ([], [HOUR, 2 * HOUR, 3 * HOUR]),
    MissedRuns.ALL: ([HOUR, 2 * HOUR, 3 * HOUR], []),
}


@pytest.mark.parametrize("policy", MissedRuns)
def test_a_machine_that_slept_over_three_due_times(desk: Desk, policy: MissedRuns) -> None:
    desk.add("every 1h", "a", missed=policy)
    desk.clock.at += 3.5 * HOUR
    works(desk)
    run, expired = SLEPT[policy]
    assert desk.runs(DONE) == run and desk.runs(EXPIRED) == expired and desk.runs(QUEUED) == [4 * HOUR]
    assert len(desk.started) == len(run)
    reasons = {one.reason for one in desk.store.runs(EXPIRED)}
    assert reasons == ({LATER} if policy is MissedRuns.ONCE else {MISSED} if policy is MissedRuns.SKIP else set())


@pytest.mark.parametrize(("policy", "most"), [(MissedRuns.ONCE, 1), (MissedRuns.SKIP, 1), (MissedRuns.ALL, 24)])
def test_a_year_asleep_at_a_time_each_minute_is_bounded(desk: Desk, policy: MissedRuns, most: int) -> None:
    desk.add("* * * * *", "a", missed=policy)
    desk.clock.at += 365 * 24 * HOUR
    works(desk)
    assert len(desk.started) == most
    assert len(desk.store.runs(EXPIRED)) <= 25
    assert desk.runs(QUEUED) == [365 * 24 * HOUR + 60]


def test_a_one_off_that_was_missed_runs_once_and_ends(desk: Desk) -> None:
    desk.add("in 2h", "a")
    desk.clock.at += 30 * HOUR
    works(desk)
    works(desk)
    assert desk.started == [("w1", "a")]
    assert [one.state for one in desk.store.schedules()] == [ScheduleState.ENDED] and desk.runs(QUEUED) == []


def test_a_clock_that_jumps_ahead_and_back_runs_no_due_time_twice(desk: Desk) -> None:
    desk.add("every 1h", "a")
    for at in (1, 2, 30, 1, 2, 3, 30, 31):  # ahead by a day, back again, and on
        desk.clock.at = NOW + at * HOUR + 1
        works(desk)
    ran = desk.runs(DONE)
    assert len(ran) == len(set(ran)) == len(desk.started)
    assert ran == [HOUR, 2 * HOUR, 3 * HOUR, 30 * HOUR, 31 * HOUR]


def test_a_clock_that_was_years_ahead_does_not_leave_the_schedule_waiting(desk: Desk) -> None:
    desk.add("daily 06:00", "a")
    desk.clock.at += 4 * 365 * 24 * HOUR
    works(desk)
    ahead = len(desk.started)
    desk.clock.at = NOW + 10
    works(desk)
    (queued,) = desk.runs(QUEUED)
    assert 0 < queued <= 24 * HOUR
    desk.clock.at = NOW + queued
    works(desk)
    assert len(desk.started) == ahead + 1


def test_a_small_step_back_changes_nothing(desk: Desk) -> None:
    desk.add("every 1m", "a")
    desk.clock.at += 61
    works(desk)
    desk.clock.at -= 30
    works(desk)
    assert desk.runs(DONE) == [60] and desk.runs(QUEUED) == [120]


def test_a_paused_schedule_waits_and_resumes_with_its_next_time(desk: Desk) -> None:
    desk.add("every 1h", "a", missed=MissedRuns.ALL)
    desk.book.pause("a")
    desk.clock.at += 5.5 * HOUR
    works(desk)
    assert desk.started == []
    assert desk.book.resume("a", int(desk.clock.at)).at == NOW + 6 * HOUR
    works(desk)
    assert desk.started == [] and desk.runs(EXPIRED) == []


def test_a_schedule_has_one_run_at_a_time(desk: Desk) -> None:
    desk.add("every 1h", "a")
    desk.add("every 1h", "b")
    desk.clock.at += HOUR
    one, other = desk.worker("w1"), desk.worker("w2")
    one.look()
    first, second = one.take(), other.take()
    assert first and second and {first.schedule, second.schedule} == {"a", "b"} and other.take() is None
    desk.clock.at += HOUR
    one.look()
    assert other.take() is None  # both are running
    asyncio.run(one.carry_out(first))
    asyncio.run(other.carry_out(second))
    later = one.take()
    assert later and later.due_at == NOW + 2 * HOUR
    desk.clock.at += HOUR
    one.look()
    assert [run.reason for run in desk.store.runs(EXPIRED)].count(WAITS) == 1  # b had one waiting


def test_a_failure_to_start_is_a_result(desk: Desk) -> None:
    desk.add("every 1h", "a")
    desk.clock.at += HOUR
    worker = desk.worker()

    async def fails(*_: object) -> RunResult:
        raise OSError("no more processes")

    worker._start = fails
    asyncio.run(worker.work(asyncio.Event(), once=True))
    (run,) = desk.store.runs(DONE)
    assert (run.result, run.exit_code) == ("failed", None) and "no more processes" in run.reason


def test_no_more_runs_at_once_than_allowed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScheduleSettings(parallel=2))
    for name in "abcde":
        desk.add("every 1h", name)
    desk.clock.at += HOUR
    worker, running, most = desk.worker(), 0, 0

    async def start(*_: object) -> RunResult:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return desk.result

    worker._start = start
    asyncio.run(worker.work(asyncio.Event(), once=True))
    assert most == 2 and len(desk.store.runs(DONE)) == 5


def test_history_is_bounded(desk: Desk) -> None:
    one = scheduled(desk.add("every 1m", "a").rule, "b")
    assert desk.store.add(msgspec.structs.replace(one, owner=desk.owner), NOW + 60)
    (queued, *_) = [run for run in desk.store.runs(QUEUED) if run.schedule == "b"]
    expired = tuple((NOW + 60 * number, MISSED) for number in range(1, KEPT + 50))
    assert desk.store.advance(queued, DuePlan((), expired, None))
    assert len(desk.store.runs(EXPIRED, schedule="b", most=5_000)) == KEPT


# ── several processes

CLAIMS = """
import os, signal, sys
from tests.features.schedule.made import opened
from quintet.features.schedule.values import RunResult
from quintet.features.schedule.worker import LEASE_SECONDS, this_worker
store, how, now = opened(sys.argv[1], sys.argv[2]), sys.argv[3], int(sys.argv[4])
sys.stdin.readline()
while run := store.claim(this_worker(), now, now + LEASE_SECONDS):
    if how == "claimed":
        os.kill(os.getpid(), signal.SIGKILL)
    ours = store.dispatch(run, this_worker(), now, now + LEASE_SECONDS)
    if how == "dispatched":
        os.kill(os.getpid(), signal.SIGKILL)
    if ours:
        print(run.id, flush=True)
        store.finish(run, this_worker(), now, RunResult(0))
"""


def another(desk: Desk, how: str) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", CLAIMS, desk.path, OWNER, how, str(int(desk.clock.at))]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_two_processes_never_run_one_due_time_twice(desk: Desk) -> None:
    for number in range(40):
        desk.add("every 1h", f"a{number}")
    desk.clock.at += HOUR
    desk.worker().look()
    both = [another(desk, "runs") for _ in range(2)]
    for process in both:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    ran = [line for process in both for line in process.communicate(timeout=60)[0].split()]
    assert len(ran) == len(set(ran)) == 40 == len(desk.store.runs(DONE))


def test_two_workers_see_the_same_due_time_and_one_advances_it(desk: Desk) -> None:
    desk.add("every 1h", "a", missed=MissedRuns.ALL)
    desk.clock.at += 3 * HOUR
    workers = [desk.worker("w1"), desk.worker("w2")]
    passed = [worker._store.passed(int(desk.clock.at)) for worker in workers]  # both have read it
    for worker, (queued,) in zip(workers, passed, strict=True):
        worker._advance(queued, int(desk.clock.at))
    assert desk.runs(DueStatus.DUE) == [HOUR, 2 * HOUR, 3 * HOUR] and desk.runs(QUEUED) == [4 * HOUR]


@pytest.mark.parametrize("how", ["claimed", "dispatched"])
def test_killed_after_the_claim_and_after_the_dispatch(desk: Desk, how: str) -> None:
    desk.add("in 1h", "a")
    desk.clock.at += HOUR
    desk.worker().look()
    process = another(desk, how)
    process.communicate("\n", timeout=60)
    assert process.returncode == -signal.SIGKILL
    (held,) = desk.store.held()
    assert held.status == how and is_gone(held, int(desk.clock.at))
    worker = desk.worker(gone=is_gone)
    asyncio.run(worker.work(asyncio.Event(), once=True))
    (run,) = desk.store.runs(DONE)
    if how == "claimed":  # nothing had been started
        assert desk.started == [("w1", "a")] and run.result == "done"
        assert [one.event for one in desk.events] == ["returned", "started", "ended"]
    else:  # it may have done anything
        assert desk.started == [] and (run.result, run.reason, run.exit_code) == ("unknown", LEFT, None)


def test_a_worker_that_was_taken_for_gone_starts_nothing(desk: Desk) -> None:
    desk.add("in 1h", "a")
    desk.clock.at += HOUR
    slow = desk.worker("slow")
    slow.look()
    run = slow.take()
    assert run
    quick = desk.worker("quick", gone=lambda *_: True)
    asyncio.run(quick.work(asyncio.Event(), once=True))
    assert asyncio.run(slow.carry_out(run)) is None
    assert desk.started == [("quick", "a")]


def test_the_end_that_a_worker_saw_counts_even_if_it_was_taken_for_gone(desk: Desk) -> None:
    desk.add("in 1h", "a")
    desk.clock.at += HOUR
    slow = desk.worker("slow")
    slow.look()
    run = slow.take()
    assert run and desk.store.dispatch(run, "slow", NOW, NOW)
    desk.worker("other", gone=lambda *_: True).look()
    assert [one.result for one in desk.store.runs(DONE)] == ["unknown"]
    assert not desk.store.finish(run, "other", NOW, RunResult(1, result="failed"))
    assert desk.store.finish(run, "slow", NOW, RunResult(0, "q5-9", "done"))
    assert [(one.result, one.session) for one in desk.store.runs(DONE)] == [("done", "q5-9")]


class Broken(TableSchedules):
    """A store that loses its database at one kind of call, after or before that was stored."""

    def __init__(self, tables: SharedTables, root: str) -> None:
        super().__init__(tables, root)
        self.at, self.stored = "", True

    def _lost(self, name: str, work: Callable[[], Any]) -> Any:
        if self.at != name:
            return work()
        self.at = ""
        if self.stored:
            work()
        raise StoreUnreachable("the database is away")

    def claim(self, *words: Any, **more: Any) -> DueRun | None:
        found: DueRun | None = self._lost("claim", lambda: super(Broken, self).claim(*words, **more))
        return found

    def dispatch(self, *words: Any) -> bool:
        return bool(self._lost("dispatch", lambda: super(Broken, self).dispatch(*words)))

    def finish(self, *words: Any) -> bool:
        return bool(self._lost("finish", lambda: super(Broken, self).finish(*words)))

    def next_due(self) -> int | None:
        found: int | None = self._lost("next_due", lambda: super(Broken, self).next_due())
        return found


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
@pytest.mark.parametrize("at", ["claim", "dispatch", "finish", "next_due"])
def test_a_database_that_is_lost_for_a_moment_starts_nothing_twice(
    desk: Desk, at: str, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "PAUSE_SECONDS", 0.0)
    desk.add("in 1h", "a")
    desk.clock.at += HOUR
    worker = desk.worker()
    known = opened(desk.path)
    broken = worker._store = Broken(known._db, known.root)
    broken.at, broken.stored = at, stored
    for _ in range(3):
        asyncio.run(worker.work(asyncio.Event(), once=True))
    (run,) = desk.store.runs(*DueStatus)
    unsure = at == "dispatch" and stored  # nobody can tell whether it was begun, so it is not begun again
    assert (run.status, run.result) == (DONE, "unknown" if unsure else "done")
    assert len(desk.started) == (0 if unsure else 1)
    assert not worker._mine


def test_a_look_that_finds_nothing_to_do_is_right(desk: Desk) -> None:
    """It stands for a worker's: whenever it says so, a worker would do nothing."""

    def idle() -> bool:
        return desk.store.is_idle(int(desk.clock.at))

    assert idle()
    desk.add("every 1h", "a")
    works(desk)
    assert idle()
    desk.clock.at += HOUR
    assert not idle()
    worker = desk.worker()
    worker.look()
    assert not idle()  # due
    run = worker.take()
    assert run and not idle()  # claimed
    asyncio.run(worker.carry_out(run))
    assert idle()
    desk.clock.at -= HOUR
    assert not idle()  # put back
    works(desk)
    assert idle()
    desk.store._db.execute("DELETE FROM due_runs WHERE status = 'queued'")
    assert not idle()


def test_who_is_gone() -> None:
    def held(worker: str, expires_at: int) -> DueRun:
        return DueRun("due-1", "a", OWNER, 0, DueStatus.CLAIMED, claimed_by=worker, expires_at=expires_at)

    assert not is_gone(held(this_worker(), 0), NOW)  # its process counts, whatever the clock says
    pid, _, identity = this_worker().partition("@")
    assert is_gone(held(f"{pid}@{identity}9", NOW + 5), NOW)  # the number was given to another process
    elsewhere = f"{pid}@other-boot/1/55"
    assert not is_gone(held(elsewhere, NOW + 5), NOW)
    assert is_gone(held(elsewhere, NOW - 5), NOW)
    assert is_gone(held(elsewhere, NOW + 3 * LEASE_SECONDS), NOW)  # from before the clock was put back


# ── rows that are not ours, or no schedules


def test_another_users_row_is_not_there(desk: Desk) -> None:
    theirs = opened(desk.path, "eve")
    one = scheduled(desk.add("every 1h", "a").rule, "evil")
    assert not theirs.add(one, NOW)  # it says that it is ada's
    assert theirs.add(msgspec.structs.replace(one, owner=theirs.owner), NOW)
    desk.clock.at += HOUR
    works(desk)
    assert desk.started == [("w1", "a")] and [one.name for one in desk.store.schedules()] == ["a"]
    assert desk.store.find("evil") is None and not desk.store.remove("evil")
    assert [run.schedule for run in theirs.runs(*DueStatus)] == ["evil"]


def test_a_row_that_is_no_schedule_is_never_run(desk: Desk) -> None:
    good = desk.add("every 1h", "good")
    data = msgspec.json.encode(good).decode()
    bad = {
        "broken": "{",
        "raised": data.replace("restricted", "root").replace('"good"', '"raised"'),
        "renamed": data,
        "theirs": data.replace(f'"owner":"{desk.owner}"', '"owner":"eve"').replace('"good"', '"theirs"'),
        "when": data.replace("PT1H", "PT0S").replace('"good"', '"when"'),
        "zone": data.replace('"type":"duration"', '"type":"cron"').replace('"good"', '"zone"'),
    }
    for name, row in bad.items():
        values = (name, desk.owner, row)
        desk.store._db.execute(
            "INSERT INTO schedules (name, owner, state, schedule) VALUES (?, ?, 'active', ?)", values
        )
        desk.store._insert(name, NOW + 1, QUEUED)
    desk.clock.at += HOUR
    works(desk)
    assert set(desk.started) <= {("w1", "good")}
    assert {"broken", "raised", "renamed", "theirs", "zone"} == set(desk.store.unreadable())


def test_the_file_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make another user's file")
    path = tmp_path / "schedule.db"
    path.touch()
    os.chown(path, 12_345, 12_345)
    with pytest.raises(StoreUnwritable, match="another user"):
        SqliteSchedules(str(path))


def test_two_that_take_the_same_free_name_both_get_one(desk: Desk) -> None:
    class Late(TableSchedules):
        """Looks at the names before the others have theirs."""

        looks = 0

        def schedules(self) -> list[Schedule]:
            self.looks += 1
            return [] if self.looks == 1 else super().schedules()

    desk.add("every 1h")
    late = ScheduleBook(Late(opened(desk.path)._db), desk.settings, desk.owner)
    assert late.add("every 1h", work(), NOW, project="/").schedule.name == "s2"
    assert [one.name for one in desk.store.schedules()] == ["s1", "s2"]
