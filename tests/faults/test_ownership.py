"""One process at a time writes a session, and what it accepted is run once, whoever comes and goes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.looking import a_while, alive
from tests.surfaces.program import SECONDS, Program

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import SQL_FOLDER, connect, connect_to_read, migrations
from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.base.errors import StoreError
from quintet.domain.journal.store_rows import Batch, Lease, SessionRow

NOW = "2026-01-01T00:00:00.000Z"
NEW = SessionRow("q5-1", NOW, NOW, "", 0, "", b"{}", "", 0, "", 0.0)
OPENED = ("noticed", b'{"type":"noticed","level":"info","code":"","text":""}')


def lease(owner: str, number: int, until: float = 9e9) -> Lease:
    return Lease("q5-1", owner, 1, "", until, number)


def batch(held: Lease, consumed: str = "") -> Batch:
    return Batch(held, [OPENED], NOW, b"{}", consumed=consumed)


# ── the fence (what a store promises of it: tests/store_contract.py)


def _older(path: Path, version: int) -> apsw.Connection:
    """A store as an older Quintet made it, with one session."""
    old = apsw.Connection(str(path))
    for name in migrations()[:version]:
        old.execute(Path(SQL_FOLDER, name).read_text())
    old.execute(f"PRAGMA user_version = {version}")
    old.execute(
        "INSERT INTO sessions (id, created, updated, title, summary, owner, owner_pid, owner_started, lease_until) "
        "VALUES ('q5-1', '', '', 'old', '{}', 'somebody', 4711, '1', 9e9)"
    )
    return old


def test_a_store_from_before_the_fence_is_read_as_it_is_and_gets_it_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    _older(path, 2).close()
    before = Rows(connect_to_read(str(path)), str(path)).session("q5-1")
    assert before
    assert (before.title, before.owner, before.lease_number) == ("old", "somebody", 0)
    assert apsw.Connection(str(path)).pragma("user_version") == 2

    async def run() -> None:
        store = SqliteStore(str(path))
        row = store.session("q5-1")
        assert row
        assert (row.title, row.lease_until, row.lease_number) == ("old", 0.0, 0)
        assert await store.take_lease(lease("me", 1), row)
        await store.append("q5-1", batch(lease("me", 1)))
        await store.close()

    asyncio.run(run())


def test_an_older_quintet_that_is_only_suspended_keeps_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old = _older(path, 2)
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    old.execute("UPDATE sessions SET owner_pid = ?, owner_started = ?, lease_until = 0", (os.getpid(), started))
    with pytest.raises(StoreError, match="still runs session q5-1"):
        connect(str(path))


# ── real processes


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def _session(quintet: Program) -> str:
    quintet.run("-p", "! true", "--mode", "build", "--autonomous", "--permission-profile", "trusted").clean(0)
    return str(quintet.sessions()[0]["session"])


def _ended(child: subprocess.Popen[str]) -> int:
    _, err = child.communicate(timeout=SECONDS)
    assert "Traceback" not in err, err
    return child.returncode


def _lines(quintet: Program) -> list[str]:
    path = quintet.root / "ran"
    return path.read_text().split() if path.exists() else []


def test_an_owner_that_was_suspended_is_not_robbed_and_goes_on(quintet: Program) -> None:
    session = _session(quintet)
    owner = quintet.start("-p", "! echo one >> ran; until [ -e go ]; do sleep 0.05; done", "--resume", session)
    _until(lambda: _lines(quintet) == ["one"])
    os.kill(owner.pid, signal.SIGSTOP)
    store = apsw.Connection(locate(str(quintet.root)).database)
    store.set_busy_timeout(10_000)
    store.execute("UPDATE sessions SET lease_until = 0")  # as after a long time
    other = quintet.start("-p", "! echo two >> ran", "--resume", session)
    _until(lambda: store.execute("SELECT id FROM inbox").fetchall() != [])
    time.sleep(1.5)  # it has looked for the owner by now
    assert _lines(quintet) == ["one"]
    assert len(quintet.events("session_taken", session)) == 1
    (quintet.root / "go").touch()
    os.kill(owner.pid, signal.SIGCONT)
    assert (_ended(owner), _ended(other)) == (0, 0)
    assert _lines(quintet) == ["one", "two"]
    turns = [event["turn"] for event in quintet.events("turn_finished", session)]
    assert len(turns) == len(set(turns)) == 3


def test_who_lost_the_session_stops_its_command_and_says_what_to_do(quintet: Program) -> None:
    session, seconds = _session(quintet), a_while()
    line = f"! echo one >> ran; sleep {seconds}"
    owner = quintet.start("-p", line, "--resume", session, "--output-format", "json")
    _until(lambda: _lines(quintet) == ["one"])
    store = apsw.Connection(locate(str(quintet.root)).database)
    store.set_busy_timeout(10_000)
    store.execute("UPDATE sessions SET owner = 'thief', owner_pid = 1, lease_number = lease_number + 1")
    out, err = owner.communicate(timeout=SECONDS)
    assert owner.returncode == 1, err
    error = json.loads(out)["error"]
    assert error["code"] == "LEASE_LOST"
    assert "`quintet --resume` attaches to it" in error["message"]
    assert not alive("sleep", seconds)
    assert store.execute("SELECT owner FROM sessions").fetchall() == [("thief",)]


# ── inputs


def test_an_input_to_a_headless_owner_is_run_before_it_leaves(quintet: Program) -> None:
    session = _session(quintet)
    owner = quintet.start("-p", "! echo one >> ran; until [ -e go ]; do sleep 0.05; done", "--resume", session)
    _until(lambda: _lines(quintet) == ["one"])
    other = quintet.start("-p", "! sleep 0.3; echo two >> ran", "--resume", session)
    store = apsw.Connection(locate(str(quintet.root)).database)
    _until(lambda: len(quintet.events("input_received", session)) == 3)
    other.kill()  # whoever sent it does not wait for it
    store.close()
    (quintet.root / "go").touch()
    assert _ended(owner) == 0
    assert _lines(quintet) == ["one", "two"]
    assert [event["status"] for event in quintet.events("turn_finished", session)] == ["done"] * 3


def test_a_client_goes_on_in_the_place_of_an_owner_that_was_killed(quintet: Program) -> None:
    session = _session(quintet)
    owner = quintet.start("-p", "! echo one >> ran; sleep 600", "--resume", session)
    _until(lambda: _lines(quintet) == ["one"])
    other = quintet.start("-p", "! echo two >> ran", "--resume", session)
    _until(lambda: len(quintet.events("input_received", session)) == 3)
    owner.kill()
    assert _ended(other) == 0
    assert _lines(quintet) == ["one", "two"]
    ends = [event["status"] for event in quintet.events("turn_finished", session)]
    assert ends == ["done", "interrupted", "done"]


def test_a_command_that_finds_a_left_input_runs_it_to_its_end(quintet: Program) -> None:
    session = _session(quintet)
    owner = quintet.start("-p", "! echo one >> ran; sleep 600", "--resume", session)
    _until(lambda: _lines(quintet) == ["one"])
    other = quintet.start("-p", "! sleep 0.5; echo two >> ran", "--resume", session)
    _until(lambda: len(quintet.events("input_received", session)) == 3)
    other.kill()
    owner.kill()
    other.wait()
    owner.wait()
    quintet.run("-p", "/status", "--resume", session).clean(0)
    assert _lines(quintet) == ["one", "two"]


def test_an_input_that_an_interrupt_holds_is_taken_back_and_said(quintet: Program) -> None:
    session = _session(quintet)
    owner = quintet.start("-p", "! echo one >> ran; sleep 600", "--resume", session)
    _until(lambda: _lines(quintet) == ["one"])
    other = quintet.start("-p", "! echo two >> ran", "--resume", session)
    _until(lambda: len(quintet.events("input_received", session)) == 3)
    owner.send_signal(signal.SIGINT)
    assert (_ended(owner), _ended(other)) == (130, 130)
    assert _lines(quintet) == ["one"]
    assert len(quintet.events("input_withdrawn", session)) == 1


def test_two_inputs_at_once_are_both_run_once_twelve_times(quintet: Program) -> None:
    session = _session(quintet)
    sent = []
    for number in range(12):
        pair = [f"{number}a", f"{number}b"]
        running = [quintet.start("-p", f"! echo {name} >> ran", "--resume", session) for name in pair]
        assert [_ended(one) for one in running] == [0, 0]
        sent += pair
    assert sorted(_lines(quintet)) == sorted(sent)
    assert len(quintet.events("turn_finished", session)) == 25


def test_an_input_that_is_sent_again_with_its_id_is_the_same_input(quintet: Program) -> None:
    session = _session(quintet)
    send = ("-p", "! echo one >> ran; cat ran", "--resume", session, "--input-id", "nightly-17")
    running = [quintet.start(*send) for _ in range(3)]
    assert [_ended(one) for one in running] == [0, 0, 0]
    again = quintet.run(*send, "--output-format", "json").clean(0).json()
    assert again["answer"] == "one\nexit 0"
    assert _lines(quintet) == ["one"]
    assert len(quintet.events("turn_started", session)) == 2


def test_an_id_of_another_input_is_refused(quintet: Program) -> None:
    session = _session(quintet)
    quintet.run("-p", "! true", "--resume", session, "--input-id", "a").clean(0)
    refused = quintet.run("-p", "! false", "--resume", session, "--input-id", "a").clean(2)
    assert "the id a belongs to another input" in refused.err
    assert "is not a valid input id" in quintet.run("-p", "x", "--resume", session, "--input-id", "a b").clean(2).err
    assert "--input-id goes with" in quintet.run("-p", "x", "--input-id", "a").clean(2).err
