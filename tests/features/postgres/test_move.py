"""A project moves whole between SQLite and PostgreSQL, can be interrupted, and is never mixed with another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quintet.adapters.processes.system import SystemClock
from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.base.errors import StoreError, UsageError
from quintet.domain.journal.protocol import UserMessaged
from quintet.domain.ports.stores import ProjectStore
from quintet.domain.tasks.task import TaskMove, TaskStatus
from quintet.features.postgres import move as moving
from quintet.features.postgres.kind import KIND
from quintet.features.postgres.move import FILE, ServerSide, move_project
from tests.store_contract import AT, batch, claim, lease, row, said, task
from tests.surfaces.program import Program


def _silent(done: int, of: int) -> None:
    """Nobody is told."""


async def _filled(store: ProjectStore, more: int = 0) -> None:
    long = UserMessaged(call="c", text="a long text \0 " * 300)
    await store.create(row("a"), batch(None, *[long, UserMessaged(call="c", text="short é")] * 20, title="nul \0"))
    await store.create(row("b", "a", 3), batch(None, long, opens=[("q-1", '{"text":"May I?"}')]))
    await store.submit("a", said("in-1"), AT)
    await store.submit("a", said("in-2", "later"), AT)
    await store.append("a", batch(None, consumed="in-1"))
    tasks = store.task_store()
    await tasks.add_tasks([task("t-1"), task("t-2", cost_spent=0.25)], "planned")
    number = await tasks.claim_task(claim("t-1", "me"))
    running = task("t-1", TaskStatus.RUNNING, started=AT)
    await tasks.move_task(running, TaskMove("t-1", TaskStatus.TODO, TaskStatus.RUNNING, "go", AT), "me", number)
    await tasks.release_task("t-1", "me")
    for _ in range(more):
        await store.append("b", batch(None, long))


def _all(store: ProjectStore) -> object:
    tasks = store.task_store()
    moves = [(one.task, one.before, one.after, one.reason) for id in ("t-1", "t-2") for one in tasks.moves(id)]
    sessions = [(one.id, one.updated, one.parent, one.forked_after, one.lease_number) for one in store.sessions()]
    journal = [store.read(name) for name in ("a", "b")]
    return sessions, journal, store.inbox("a"), tasks.tasks(), moves


def _look(store: ProjectStore) -> object:
    async def run() -> object:
        try:
            return _all(store)
        finally:
            await store.close()

    return asyncio.run(run())


def _fill(store: ProjectStore) -> None:
    async def run() -> None:
        await _filled(store)
        await store.close()

    asyncio.run(run())


def test_a_project_goes_there_and_back_and_is_the_same(database: str, tmp_path: Path) -> None:
    path, back = str(tmp_path / "a/state.db"), str(tmp_path / "b/state.db")
    _fill(SqliteStore(path))
    moved = move_project(FILE, database, path, "team", _silent)
    assert moved["counts"] == {
        "journal": 42,
        "sessions": 2,
        "inbox": 1,
        "submissions": 2,
        "questions": 1,
        "tasks": 2,
        "task_scheduler": 0,
        "task_branches": 0,
        "task_transitions": 3,
    }
    there = _look(KIND.open(database, "team", SystemClock()))
    assert there == _look(SqliteStore(path))
    again = move_project(FILE, database, path, "team", _silent)
    assert again == moved, "nothing is doubled"
    move_project(database, FILE, back, "team", _silent)
    assert _look(SqliteStore(back)) == there

    async def goes_on() -> None:
        store = KIND.open(database, "team", SystemClock())
        assert await store.append("a", batch()) == [43]
        assert await store.submit("a", said("in-1"), AT) == 40, "what was accepted before is known"
        await store.close()

    asyncio.run(goes_on())
    with pytest.raises(UsageError, match="has been used since"):
        move_project(FILE, database, path, "team", _silent)
    with pytest.raises(UsageError, match="nothing is stored"):
        move_project(database, FILE, str(tmp_path / "c/state.db"), "other", _silent)


def test_a_move_that_is_interrupted_shows_nothing_and_goes_on(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "state.db")
    _fill(SqliteStore(path))
    monkeypatch.setattr(moving, "PIECE", 7)
    left = 20

    class Cut(ServerSide):
        def add_event(self, event: moving.Event) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            super().add_event(event)

    monkeypatch.setattr(moving, "ServerSide", Cut)
    with pytest.raises(KeyboardInterrupt):
        move_project(FILE, database, path, "team", _silent)
    rows = KIND.rows(database, "team")
    assert rows
    assert (rows.sessions(), rows.newest_seq()) == ([], 14)
    rows.close()
    move_project(FILE, database, path, "team", _silent)
    assert _look(KIND.open(database, "team", SystemClock())) == _look(SqliteStore(path))


def test_a_project_in_use_is_not_moved(database: str, tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")

    async def fill() -> None:
        store = SqliteStore(path)
        await _filled(store)
        await store.create(row("c"), batch(lease("me", session="c")))
        await store.close()

    asyncio.run(fill())
    with pytest.raises(StoreError, match="session c is in use"):
        move_project(FILE, database, path, "team", _silent)


def test_the_command_moves_and_says_how_to_use_it(quintet: Program, database: str) -> None:
    quintet.run("-p", "! true", "--mode", "build", "--autonomous", "--permission-profile", "trusted").clean(0)
    before = quintet.journal()
    done = quintet.run("database", "move", "--to", database).clean(0)
    assert "counts and digests agree" in done.out
    assert "QUINTET_DATABASE" in done.out
    (session,) = quintet.sessions()
    shown = quintet.run("sessions", "show", session["session"], "--events", QUINTET_DATABASE=database).clean(0)
    assert shown.lines() == before
    again = quintet.run("database", "move", "--to", database, "--json").clean(0).json()
    assert again["counts"]["journal"] == len(before)
    assert quintet.run("database", "move", "--to", "file", QUINTET_DATABASE=database).clean(0)
    assert quintet.run("database", "status").clean(0)
