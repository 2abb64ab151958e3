"""Whatever happens to the state on disk, the person is told, nothing that was there is lost, and work can go on."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from crash_checks import Witness, events_of, read_state, witness_of
from crash_runs import VICTIM
from crash_session import (
    FLAT,
    Person,
    ReportingStore,
    careful_model,
    effects_in,
    label_of,
    last_seq,
    make_project,
    reporting_session,
)
from cut_vfs import CutVfs, DiskLog, Mark

import quintet
from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import RandomIds, SystemClock
from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.base.errors import LeaseLost, QuintetError, StoreDamaged, StoreNewer, StoreUnwritable
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.domain.ports.ports import Lease
from quintet.engine.session.session import Session
from quintet.engine.turn.recall import LEARNT

PAGE = 4096
QUINTET = os.path.join(os.path.dirname(sys.executable), "quintet")


@pytest.fixture
def project(tmp_path: Path) -> str:
    return make_project(str(tmp_path / "project"))


async def _turns(session: Session, *texts: str) -> None:
    person = Person(session, interjects=False)
    try:
        await person.run(texts)
    finally:
        await person.leave()


def _open(project: str, **options: Any) -> contextlib.AbstractAsyncContextManager[Session]:
    return quintet.open(project, person=True, model=careful_model(), settings=FLAT, **options)


async def _stolen(thief: SqliteStore, session: str) -> bool:
    """Take a session as a process does that cannot see its owner; returns whether it got it."""
    row = thief.session(session)
    assert row
    return await thief.take_lease(Lease(session, "thief", os.getpid(), "", 9e9, row.lease_number + 1), row)


def _until_marked(project: str) -> None:
    while not effects_in(project):
        time.sleep(0.01)


def _worked(project: str, *texts: str) -> str:
    """A session with some history; returns its id."""

    async def work() -> str:
        async with _open(project) as session:
            await _turns(session, "/mode build", *texts)
            return session.id

    return asyncio.run(work())


def _files(folder: str) -> dict[str, bytes]:
    """What the database's files hold; an empty one holds nothing, and -shm is rebuilt from the others."""
    found = {}
    for name in os.listdir(folder):
        if name.startswith("state.db") and not name.endswith("-shm"):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
    return {name: content for name, content in found.items() if content}


# ── a disk that takes no more


class _BadDisk:
    """Refuses writes once `error` is set."""

    def __init__(self) -> None:
        self.error: type[Exception] | None = None

    def __call__(self, file: str) -> None:
        if self.error:
            raise self.error("the disk refuses")


@contextlib.asynccontextmanager
async def _on_bad_disk(project: str) -> AsyncIterator[tuple[Session, _BadDisk, DiskLog]]:
    disk, log = _BadDisk(), DiskLog()
    vfs = CutVfs(f"bad-{id(log)}", log, disk)
    store = ReportingStore(locate(project).database, log.mark, vfs.name)
    async with reporting_session(project, store, log.mark, SystemClock(), RandomIds()) as session:
        yield session, disk, log
    vfs.unregister()


@pytest.mark.parametrize("error", [apsw.FullError, apsw.ReadOnlyError, apsw.IOError])
def test_a_disk_that_refuses_is_said_and_loses_no_earlier_event(project: str, error: type[Exception]) -> None:
    async def run() -> tuple[Witness, int]:
        async with _on_bad_disk(project) as (session, disk, log):
            await _turns(session, "/mode build --permission-profile trusted", "do m1 w1")
            disk.error = error
            with pytest.raises(StoreUnwritable, match=r"state\.db: cannot be written") as refused:
                await session.say("do m2")
            assert "Free some space" in refused.value.hint
            disk.error = None
            await _turns(session, "do m3")
            return witness_of(e.what for e in log.entries if isinstance(e, Mark)), last_seq(session)

    witness, last = asyncio.run(run())
    rows = read_state(locate(project).database, witness.session).rows
    assert rows == witness.acknowledged
    assert rows[-1][0] == last
    assert effects_in(project) == {"m1": 1, "w1": 1, "m3": 1}


def test_a_disk_that_fills_up_during_a_turn_stops_it_before_its_next_call(project: str) -> None:
    async def run() -> Witness:
        async with _on_bad_disk(project) as (session, disk, log):
            await _turns(session, "/mode build --permission-profile trusted")

            async def fill() -> None:
                async for item in session.events():
                    if isinstance(item, p.Recorded) and isinstance(item.event, p.ToolStarted):
                        disk.error = apsw.FullError

            filling = asyncio.create_task(fill())
            with pytest.raises(StoreUnwritable):
                await _turns(session, "do w1 w2 w3")
            with pytest.raises(StoreUnwritable):
                await filling
            disk.error = None
            return witness_of(e.what for e in log.entries if isinstance(e, Mark))

    witness = asyncio.run(run())
    assert effects_in(project) == {"w1": 1}
    rows = read_state(locate(project).database, witness.session).rows
    assert rows[: len(witness.acknowledged)] == witness.acknowledged

    async def go_on() -> None:
        async with _open(project, resume=witness.session) as session:
            assert session.state.turns.interrupted
            await _turns(session, "/resume")
            await _turns(session, "do w4")

    asyncio.run(go_on())
    assert effects_in(project) == {"w1": 1, "w2": 1, "w3": 1, "w4": 1}


def test_the_program_says_that_it_cannot_write_and_keeps_the_session(project: str) -> None:
    """The real command under a file size limit, which a write hits as it would a full disk."""
    session = _worked(project, "do w1")
    before = read_state(locate(project).database, session).rows
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 4; exec "$0" "$@"', QUINTET, "-p", "git status", "--resume", session],
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "state.db: cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert read_state(locate(project).database, session).rows[: len(before)] == before
    assert _worked(project, "do w2")


def test_a_state_folder_that_cannot_be_made_is_said(project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    done = subprocess.run([QUINTET, "-p", "git status"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 1
    assert "/proc/nowhere" in done.stderr
    assert "XDG_STATE_HOME" in done.stderr
    assert "Traceback" not in done.stderr


# ── a database from another time


WRITE_NEWER = """
import os, sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.pragma("journal_mode", "wal")
connection.execute("CREATE TABLE future (x); INSERT INTO future VALUES (1); PRAGMA user_version = 999")
if sys.argv[2] == "killed":
    os._exit(0)
"""


@pytest.mark.parametrize("ending", ["closed", "killed"])
def test_a_database_of_a_newer_version_is_refused_and_not_touched(project: str, ending: str) -> None:
    places = locate(project)
    os.makedirs(places.state)
    subprocess.run([sys.executable, "-c", WRITE_NEWER, places.database, ending], check=True)
    before = _files(places.state)
    with pytest.raises(StoreNewer, match="999"):
        SqliteStore(places.database)
    for words in (["status"], ["sessions", "list"], ["-p", "git status"]):
        done = subprocess.run([QUINTET, *words], cwd=project, capture_output=True, text=True)
        assert done.returncode == 1
        assert "schema version 999" in done.stderr
    assert _files(places.state) == before


# ── a damaged database


def _root_page(database: str, table: str) -> int:
    connection = apsw.Connection(database)
    try:
        found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
        return int(str(found[0][0]))
    finally:
        connection.close()


def _overwrite(path: str, offset: int, data: bytes) -> bytes:
    """Damage the file; returns the whole of it as it now is."""
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)
        file.seek(0)
        return file.read()


def _kept_aside(database: str) -> list[bytes]:
    kept = []
    for folder, _, names in os.walk(os.path.join(os.path.dirname(database), "damaged")):
        if "state.db" in names:
            with open(os.path.join(folder, "state.db"), "rb") as file:
                kept.append(file.read())
    return kept


@pytest.mark.parametrize("place", ["header", "sessions"])
def test_a_damaged_database_is_moved_aside_whole_and_said_and_work_goes_on(project: str, place: str) -> None:
    _worked(project, "do w1")
    database = locate(project).database
    offset = 0 if place == "header" else (_root_page(database, "sessions") - 1) * PAGE
    damaged = _overwrite(database, offset, b"\xa5" * 200)

    session = _worked(project, "do w2")
    left = read_state(database, session)
    noticed = [event for event in events_of(left.rows) if isinstance(event, p.Noticed)]
    assert [event.code for event in noticed if event.code != LEARNT] == ["STORE_DAMAGED"]
    assert "damaged" in noticed[0].text
    assert os.path.join(os.path.dirname(database), "damaged") in noticed[0].text
    assert _kept_aside(database) == [damaged]
    assert effects_in(project) == {"w1": 1, "w2": 1}
    assert not left.notice


@pytest.mark.parametrize("damage", ["page", "text"])
def test_a_damaged_journal_is_detected_said_and_copied_aside(project: str, damage: str) -> None:
    session = _worked(project, *(f"do w{number}" for number in range(1, 9)))
    database = locate(project).database
    if damage == "page":
        offset = (_root_page(database, "journal") - 1) * PAGE
        damaged = _overwrite(database, offset, b"\xa5" * 200)
    else:
        with open(database, "rb") as file:
            offset = file.read().index(b'"type":"turn_finished"')
        damaged = _overwrite(database, offset, b"\xff\xfe\xfd")

    async def resume() -> None:
        async with _open(project, resume=session):
            pass

    with pytest.raises(StoreDamaged) as refused:
        asyncio.run(resume())
    assert database in refused.value.message
    assert "damaged/" in refused.value.hint
    assert damaged in _kept_aside(database)
    done = subprocess.run(
        [QUINTET, "sessions", "show", session, "--events"], cwd=project, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_damage_to_one_session_does_not_stop_another(project: str) -> None:
    _worked(project, "do w1")
    database = locate(project).database
    with open(database, "rb") as file:
        offset = file.read().index(b'"type":"turn_finished"')
    _overwrite(database, offset, b"\xff\xfe\xfd")
    second = _worked(project, "do w2")
    assert effects_in(project) == {"w1": 1, "w2": 1}
    assert read_state(database, second).rows


def test_a_submission_that_cannot_be_read_is_passed_over_said_and_kept(project: str) -> None:
    async def run() -> str:
        async with _open(project) as session:
            connection = apsw.Connection(locate(project).database)
            values = ("in-x", session.id, "", '{"id":"in-x","body":{"type":"of_another_time"},"surface":"tui"}')
            connection.execute("INSERT INTO inbox (id, session, at, data) VALUES (?, ?, ?, ?)", values)
            connection.close()
            await _turns(session, "/status", "/mode build", "do w1")
            return session.id

    session = asyncio.run(run())
    left = read_state(locate(project).database, session)
    told = [e for e in events_of(left.rows) if isinstance(e, p.Noticed)]
    assert [(e.level, e.code) for e in told if e.code != LEARNT] == [
        ("error", "SUBMISSION_UNREADABLE")
    ] and "in-x" in told[0].text
    assert left.inbox == {"in-x"}
    assert effects_in(project) == {"w1": 1}


# ── two at once


def test_two_processes_on_one_project_write_at_once_and_their_journals_do_not_mix(project: str) -> None:
    tags = ("a", "b")
    running = [subprocess.Popen([sys.executable, VICTIM, project, tag], stdout=subprocess.PIPE) for tag in tags]
    witnesses = {}
    for tag, process in zip(tags, running, strict=True):
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        reports = [json.loads(line) for line in output.splitlines()]
        assert reports[-1] == {"done": True}
        witnesses[tag] = witness_of(reports)

    numbers: list[int] = []
    for tag, witness in witnesses.items():
        left = read_state(locate(project).database, witness.session)
        assert left.rows == witness.acknowledged
        assert not left.inbox
        events = events_of(left.rows)
        assert {e.conversation for e in events if isinstance(e, p.ModelRequested)} == {witness.session}
        labels = {label_of(e.call) for e in events if isinstance(e, p.ToolStarted) and "." in e.call}
        assert labels
        assert all(label.startswith(tag) for label in labels)
        assert fold(events).status == "idle"
        numbers += [seq for seq, _ in left.rows]
    assert len(set(numbers)) == len(numbers)
    assert max(effects_in(project).values()) == 1


def test_an_owner_whose_lease_was_taken_stops_and_writes_no_more(project: str) -> None:
    async def run() -> tuple[str, int]:
        async with _open(project) as session:
            await _turns(session, "/mode build", "do w1")
            thief = SqliteStore(locate(project).database)
            assert await _stolen(thief, session.id)
            last = last_seq(session)
            with pytest.raises(LeaseLost) as lost:
                await _turns(session, "do w2")
            assert lost.value.code == "LEASE_LOST"
            with pytest.raises(LeaseLost):
                await session.say("do w3")
            assert [submitted.body for submitted in thief.inbox(session.id)] == [p.Say(text="do w2")]
            await thief.close()
            return session.id, last

    session, last = asyncio.run(run())
    rows = read_state(locate(project).database, session).rows
    assert rows[-1][0] == last
    assert effects_in(project) == {"w1": 1}


def test_a_reader_that_comes_after_the_failure_is_told_too(project: str) -> None:
    async def run() -> None:
        async with _open(project) as session:
            thief = SqliteStore(locate(project).database)
            await _stolen(thief, session.id)
            await thief.close()
            with pytest.raises(LeaseLost):
                await _turns(session, "/status")
            with pytest.raises(LeaseLost):
                async with asyncio.timeout(60):
                    async for _ in session.events():
                        pass

    asyncio.run(run())


def test_an_owner_that_loses_its_lease_during_a_call_stops_it_and_starts_no_further_one(project: str) -> None:
    async def run() -> str:
        async with _open(project) as session:
            await _turns(session, "/mode build --permission-profile trusted")
            thief = SqliteStore(locate(project).database)
            with open(os.path.join(project, "mark"), "a") as mark:
                mark.write("sleep 600 && touch went-on\n")  # nothing but the loss ends the call

            async def steal() -> None:
                async for item in session.events():
                    if isinstance(item, p.Recorded) and isinstance(item.event, p.ToolStarted):
                        await asyncio.to_thread(_until_marked, project)
                        await _stolen(thief, session.id)

            stealing = asyncio.create_task(steal())
            with pytest.raises(QuintetError) as stopped:
                await _turns(session, "do m1 w1 w2")
            assert stopped.value.code == "LEASE_LOST"
            await asyncio.gather(stealing, return_exceptions=True)
            await thief.close()
            return session.id

    session = asyncio.run(run())
    assert effects_in(project) == {"m1": 1}
    events = events_of(read_state(locate(project).database, session).rows)
    assert [e.call for e in events if isinstance(e, p.ToolStarted)] == ["m1.1"]


def test_a_journal_that_cannot_be_written_is_moved_aside_and_a_new_session_begins(project: str) -> None:
    _worked(project, *(f"do w{number}" for number in range(1, 9)))
    database = locate(project).database
    damaged = _overwrite(database, (_root_page(database, "journal") - 1) * PAGE, b"\xa5" * 200)
    second = _worked(project, "do w9")
    assert damaged in _kept_aside(database)
    assert any("moved to" in str(row) for row in read_state(database, second).rows)
