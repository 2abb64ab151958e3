"""Schedules and due runs: in one file of the user's own, for all projects and workers of theirs, or for one project in
the database that several machines share. The statements are the same."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

import msgspec

from quintet.adapters.files.paths import Places, state_folder
from quintet.adapters.processes.system import RandomIds
from quintet.adapters.sqlite import own_files
from quintet.adapters.stores.chosen import database_url, shared_tables
from quintet.domain.ports.stores import SharedTables
from quintet.features.schedule.plan import MISSED, DuePlan
from quintet.features.schedule.values import DueRun, DueStatus, RunResult, Schedule, ScheduleState, may_move

KEPT = 1_000  # runs that are over, of each schedule
LOOK_NOTED = 55  # seconds, until a look is noted again
CLOCK_SLACK = 60  # seconds that a clock may be put back without being noticed
_SCHEMA = os.path.join(os.path.dirname(__file__), "schedule.sql")
_COLUMNS = ", ".join(DueRun.__struct_fields__)
_ADD = "INSERT INTO schedules (name, owner, state, schedule) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_SEEN = "INSERT INTO clocks (owner, seen) VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET seen = excluded.seen"
_HELD = (DueStatus.CLAIMED, DueStatus.DISPATCHED)


def database() -> str:
    return os.path.join(state_folder(), "schedule", "schedule.db")


def me() -> str:
    """Whose schedules these are, on this machine."""
    return str(os.geteuid())


def is_there(path: str = "") -> bool:
    """Whether anything was ever scheduled."""
    return os.path.exists(path or database())


class FileTables:
    """Port `SharedTables`, on the file of one machine."""

    def __init__(self, path: str, owner: str) -> None:
        self._path, self.owner = path, owner
        self._db = own_files.opened(path, _SCHEMA)

    def execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return self._db.execute(sql, tuple(values))

    def writing(self) -> AbstractContextManager[None]:
        return own_files.writing(self._db, self._path)

    def epoch(self) -> float:
        return time.time()

    def close(self) -> None:
        self._db.close()


class TableSchedules:
    """Port `ScheduleStore`. `root`: where runs of a shared database begin here, whatever its rows say."""

    def __init__(self, tables: SharedTables, root: str = "") -> None:
        self._db = tables
        self.owner = self._owner = tables.owner
        self.root = root
        self._ids = RandomIds()

    @property
    def shared(self) -> bool:
        return bool(self.root)

    def epoch(self) -> float:
        return self._db.epoch()

    def close(self) -> None:
        self._db.close()

    def _writing(self) -> AbstractContextManager[None]:
        return self._db.writing()

    # ── schedules

    def add(self, schedule: Schedule, first: int) -> bool:
        if schedule.owner != self._owner:
            return False
        with self._writing():
            values = (schedule.name, schedule.owner, schedule.state, msgspec.json.encode(schedule).decode())
            if not self._db.execute(_ADD, values).rowcount:
                return False
            self._insert(schedule.name, first, DueStatus.QUEUED)
        return True

    def schedules(self) -> list[Schedule]:
        rows = self._db.execute("SELECT name, state, schedule FROM schedules WHERE owner = ?", (self._owner,))
        found = (self._read(*row) for row in rows.fetchall())
        return sorted((one for one in found if one), key=lambda one: (one.created, one.name))

    def find(self, name: str) -> Schedule | None:
        query = "SELECT name, state, schedule FROM schedules WHERE owner = ? AND name = ?"
        row = self._db.execute(query, (self._owner, name)).fetchone()
        return self._read(*row) if row else None

    def unreadable(self) -> list[str]:
        rows = self._db.execute("SELECT name, state, schedule FROM schedules WHERE owner = ?", (self._owner,))
        return [str(row[0]) for row in rows.fetchall() if self._read(*row) is None]

    def _read(self, name: str, state: str, data: str) -> Schedule | None:
        """What a row holds is checked like anything that comes from outside; it is of whom and what its key says."""
        try:
            found = msgspec.json.decode(data, type=Schedule)
            state_of = ScheduleState(state)
        except (ValueError, msgspec.DecodeError):
            return None
        if (found.name, found.owner) != (name, self._owner):
            return None
        if self.root:
            work = msgspec.structs.replace(found.work, directory=self.root)
            found = msgspec.structs.replace(found, project=self.root, work=work)
        return msgspec.structs.replace(found, state=state_of)

    def set_state(self, name: str, state: ScheduleState) -> None:
        self._db.execute("UPDATE schedules SET state = ? WHERE owner = ? AND name = ?", (state, self._owner, name))

    def remove(self, name: str) -> bool:
        with self._writing():
            self._db.execute("DELETE FROM due_runs WHERE owner = ? AND schedule = ?", (self._owner, name))
            gone = self._db.execute("DELETE FROM schedules WHERE owner = ? AND name = ?", (self._owner, name))
            return bool(gone.rowcount)

    # ── due runs

    def runs(self, *statuses: DueStatus, schedule: str = "", most: int = 1_000) -> list[DueRun]:
        marks = ", ".join("?" * len(statuses))
        query = f"SELECT {_COLUMNS} FROM due_runs WHERE owner = ? AND status IN ({marks})"
        values: list[object] = [self._owner, *statuses]
        if schedule:
            query, values = f"{query} AND schedule = ?", [*values, schedule]
        return self._runs(f"{query} ORDER BY due_at DESC, id DESC LIMIT ?", *values, most)

    def passed(self, now: int) -> list[DueRun]:
        query = (
            f"SELECT {_COLUMNS} FROM due_runs AS run WHERE owner = ? AND status = 'queued' AND due_at <= ?"
            " AND EXISTS (SELECT 1 FROM schedules AS one WHERE one.owner = run.owner AND one.name = run.schedule"
            " AND one.state = 'active') ORDER BY due_at"
        )
        return self._runs(query, self._owner, now)

    def next_due(self) -> int | None:
        query = (
            "SELECT min(run.due_at) FROM due_runs AS run JOIN schedules AS one ON one.owner = run.owner"
            " AND one.name = run.schedule WHERE run.owner = ? AND run.status = 'queued' AND one.state = 'active'"
        )
        found = self._db.execute(query, (self._owner,)).fetchone()[0]
        return int(found) if found is not None else None

    def advance(self, queued: DueRun, plan: DuePlan) -> bool:
        due, expired = set(plan.run), dict(plan.expire)
        with self._writing():
            to = DueStatus.DUE if queued.due_at in due else DueStatus.EXPIRED
            reason = "" if to is DueStatus.DUE else expired.get(queued.due_at, MISSED)
            if not self._move(queued, to, "reason = ?, consumed_at = 0", reason):
                return False
            for time in sorted(due - {queued.due_at}):
                self._insert(queued.schedule, time, DueStatus.DUE)
            for time in sorted(set(expired) - {queued.due_at}):
                self._insert(queued.schedule, time, DueStatus.EXPIRED, expired[time])
            if plan.next is None:
                self.set_state(queued.schedule, ScheduleState.ENDED)
            else:
                self._insert(queued.schedule, plan.next, DueStatus.QUEUED)
            self._drop_old(queued.schedule)
        return True

    def unqueued(self) -> list[str]:
        query = (
            "SELECT name FROM schedules AS one WHERE owner = ? AND state = 'active' AND NOT EXISTS (SELECT 1 FROM"
            " due_runs AS run WHERE run.owner = one.owner AND run.schedule = one.name AND run.status = 'queued')"
        )
        return [str(row[0]) for row in self._db.execute(query, (self._owner,)).fetchall()]

    def requeue(self, schedule: str, due_at: int) -> bool:
        here = "owner = ? AND schedule = ? AND by_hand = 0 AND status"
        with self._writing():
            known = f"SELECT 1 FROM due_runs WHERE {here} NOT IN ('queued', 'expired') AND due_at = ?"
            if self._db.execute(known, (self._owner, schedule, due_at)).fetchone():
                return False
            self._db.execute(f"DELETE FROM due_runs WHERE {here} = 'queued'", (self._owner, schedule))
            self._insert(schedule, due_at, DueStatus.QUEUED)
        return True

    def put_due(self, schedule: str, now: int) -> DueRun | None:
        with self._writing():
            open_ = "owner = ? AND schedule = ? AND status IN ('due', 'claimed', 'dispatched')"
            if self._db.execute(f"SELECT 1 FROM due_runs WHERE {open_}", (self._owner, schedule)).fetchone():
                return None
            while not (id := self._insert(schedule, now, DueStatus.DUE, by_hand=True)):
                now += 1  # a second time within this second
        return self._one(id)

    def claim(self, worker: str, now: int, expires_at: int, only: str = "") -> DueRun | None:
        query = (
            f"SELECT {_COLUMNS} FROM due_runs AS run WHERE owner = ? AND status = 'due' AND (? = '' OR id = ?)"
            " AND EXISTS (SELECT 1 FROM schedules AS one WHERE one.owner = run.owner AND one.name = run.schedule"
            " AND (one.state != 'paused' OR run.by_hand = 1))"
            " AND NOT EXISTS (SELECT 1 FROM due_runs AS other WHERE other.owner = run.owner"
            " AND other.schedule = run.schedule AND other.status IN ('claimed', 'dispatched'))"
            " ORDER BY due_at, id LIMIT 1"
        )
        with self._writing():
            for run in self._runs(query, self._owner, only, only):
                self._move(run, DueStatus.CLAIMED, "claimed_by = ?, expires_at = ?", worker, expires_at)
                return self._one(run.id)
        return None

    def dispatch(self, run: DueRun, worker: str, now: int, expires_at: int) -> bool:
        changed = "dispatched_at = ?, expires_at = ?"
        return run.claimed_by == worker and self._move(run, DueStatus.DISPATCHED, changed, now, expires_at)

    def begun(self, run: DueRun, worker: str, session: str) -> None:
        query = "UPDATE due_runs SET session = ? WHERE id = ? AND claimed_by = ?"
        self._db.execute(query, (session, run.id, worker))

    def finish(self, run: DueRun, worker: str, now: int, result: RunResult) -> bool:
        """Also where somebody took the worker for gone meanwhile: what it saw counts."""
        query = (
            "UPDATE due_runs SET status = 'consumed', consumed_at = ?, exit_code = ?, session = ?, result = ?,"
            " reason = ? WHERE id = ? AND claimed_by = ? AND (status = 'dispatched' OR result = 'unknown')"
        )
        values = (now, result.exit_code, result.session, result.result, result.reason, run.id, worker)
        with self._writing():
            ended = self._db.execute(query, values).rowcount
            self._drop_old(run.schedule)
        return bool(ended)

    def renew(self, worker: str, expires_at: int) -> None:
        held = "owner = ? AND claimed_by = ? AND status IN ('claimed', 'dispatched')"
        self._db.execute(f"UPDATE due_runs SET expires_at = ? WHERE {held}", (expires_at, self._owner, worker))

    def held(self) -> list[DueRun]:
        return self.runs(*_HELD)

    def settle(self, run: DueRun, to: DueStatus, now: int, reason: str) -> bool:
        unknown = "unknown" if to is DueStatus.CONSUMED else ""
        changed = "consumed_at = ?, result = ?, reason = ?" + ("" if unknown else ", claimed_by = ''")
        query = "SELECT 1 FROM due_runs WHERE id = ? AND claimed_by = ? AND expires_at = ?"
        with self._writing():
            if not self._db.execute(query, (run.id, run.claimed_by, run.expires_at)).fetchone():
                return False
            return self._move(run, to, changed, now if unknown else 0, unknown, reason)

    def is_idle(self, now: int) -> bool:
        """Whether a worker would find nothing to do: no time has come, no run is open, the clock was not put back."""
        back = "SELECT 1 FROM clocks WHERE owner = ? AND seen > ?"
        if self._db.execute(back, (self._owner, now + CLOCK_SLACK)).fetchone():
            return False
        return not (self.passed(now) or self.runs(DueStatus.DUE, *_HELD, most=1) or self.unqueued())

    def clock_went_back(self, now: int) -> bool:
        with self._writing():
            row = self._db.execute("SELECT seen FROM clocks WHERE owner = ?", (self._owner,)).fetchone()
            back = row is not None and now < row[0] - CLOCK_SLACK
            if row is None or back or now > row[0]:
                self._db.execute(_SEEN, (self._owner, now))
        return back

    def looked(self, now: int) -> None:
        """Somebody has looked at the clock: written down each minute at most."""
        if now >= (self.seen() or 0) + LOOK_NOTED:
            self.clock_went_back(now)

    def seen(self) -> int | None:
        """When somebody has looked at the clock last."""
        row = self._db.execute("SELECT seen FROM clocks WHERE owner = ?", (self._owner,)).fetchone()
        return int(row[0]) if row else None

    # ── rows

    def _runs(self, query: str, *values: object) -> list[DueRun]:
        rows = self._db.execute(query, values).fetchall()
        named = (dict(zip(DueRun.__struct_fields__, row, strict=True)) for row in rows)
        return [msgspec.convert(row, DueRun, strict=False) for row in named]

    def _one(self, id: str) -> DueRun | None:
        return next(iter(self._runs(f"SELECT {_COLUMNS} FROM due_runs WHERE id = ?", id)), None)

    def _insert(self, schedule: str, due_at: int, status: DueStatus, reason: str = "", *, by_hand: bool = False) -> str:
        """The id of a new row; empty if this time of the schedule is known.

        A time that expired can come again, when a clock that was ahead is put back: it was not run.
        """
        if status is not DueStatus.EXPIRED:
            same = "owner = ? AND schedule = ? AND due_at = ? AND status = 'expired'"
            self._db.execute(f"DELETE FROM due_runs WHERE {same}", (self._owner, schedule, due_at))
        id = self._ids.new("due")
        columns = "id, schedule, owner, due_at, status, reason, by_hand"
        values = (id, schedule, self._owner, due_at, status, reason, int(by_hand))
        query = f"INSERT INTO due_runs ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        return id if self._db.execute(query, values).rowcount else ""

    def _move(self, run: DueRun, to: DueStatus, changed: str, *values: object) -> bool:
        """Compare and set: nothing happens unless the row is as it was read."""
        if not may_move(run.status, to):
            return False
        query = f"UPDATE due_runs SET status = ?, {changed} WHERE id = ? AND status = ? AND claimed_by = ?"
        return bool(self._db.execute(query, (to, *values, run.id, run.status, run.claimed_by)).rowcount)

    def _drop_old(self, schedule: str) -> None:
        over = "owner = ? AND schedule = ? AND status IN ('consumed', 'expired')"
        query = f"DELETE FROM due_runs WHERE {over} AND id NOT IN (SELECT id FROM due_runs WHERE {over}"
        query += " ORDER BY due_at DESC LIMIT ?)"
        self._db.execute(query, (self._owner, schedule, self._owner, schedule, KEPT))


class SqliteSchedules(TableSchedules):
    """In the user's own file."""

    def __init__(self, path: str = "", owner: str = "") -> None:
        super().__init__(FileTables(path or database(), owner or me()))


def open_schedules(places: Places, *, own: bool = False, make: bool = False) -> TableSchedules:
    """Those of the database that the user chose for the project, else, or with `own`, of the user's own file."""
    tables = None if own else shared_tables(places, make=make)
    return TableSchedules(tables, places.root) if tables else SqliteSchedules()


def are_there(places: Places) -> bool:
    """Whether there may be any, as far as can be said without a server."""
    return bool(database_url(places)) or is_there()
