"""Schedules, clocks and workers for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from whenever import Instant

from quintet.domain.dials.axes import ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.features.postgres.tables import PostgresTables
from quintet.features.schedule.book import ScheduleBook
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import SqliteSchedules, TableSchedules
from quintet.features.schedule.values import DueRun, DueStatus, Rule, RunResult, Schedule, ScheduledWork
from quintet.features.schedule.worker import ScheduleWorker, WorkerEvent

BERLIN = "Europe/Berlin"
NOW = int(Instant("2026-03-27T12:00Z").timestamp())  # a Friday; the clock is put forward in the night to Sunday
OWNER = "ada"


def work(text: str = "look", directory: str = "/") -> ScheduledWork:
    return ScheduledWork(
        text,
        directory,
        WorkMode.CHAT,
        RunControl.AUTONOMOUS,
        PermissionProfile.RESTRICTED,
        ModelMode.SMART,
    )


def scheduled(rule: Rule, name: str = "s1", zone: str = BERLIN, **more: object) -> Schedule:
    return Schedule(name, OWNER, "/", "", rule, zone, work(), **more)  # type: ignore[arg-type]


class SetClock:
    """A clock that a test sets."""

    def __init__(self, at: int = NOW) -> None:
        self.at = float(at)

    def epoch(self) -> float:
        return self.at


def opened(place: str, owner: str = OWNER) -> TableSchedules:
    """A file, or a database that several machines share."""
    if place.startswith("postgresql:"):
        return TableSchedules(PostgresTables(place, owner, make=True), "/")
    return SqliteSchedules(place, owner)


class Desk:
    """A book, a clock, and workers that run nothing but write down what they would."""

    def __init__(self, folder: Path, settings: ScheduleSettings | None = None, place: str = "") -> None:
        self.path = place or str(folder / "schedule.db")
        self.settings = settings or ScheduleSettings()
        self.clock = SetClock()
        self.store = opened(self.path)
        self.owner = self.store.owner
        self.book = ScheduleBook(self.store, self.settings, self.owner)
        self.started: list[tuple[str, str]] = []  # the worker and the text
        self.events: list[WorkerEvent] = []
        self.result = RunResult(0, "q5-1", "done")

    def add(self, when: str, name: str = "", **more: object) -> Schedule:
        text = name or "look"
        return self.book.add(when, work(text), int(self.clock.at), project="/", zone=BERLIN, name=name, **more).schedule  # type: ignore[arg-type]

    def worker(self, name: str = "w1", gone: Callable[[DueRun, int], bool] = lambda *_: False) -> ScheduleWorker:
        async def start(one: ScheduledWork, begun: Callable[[str], None]) -> RunResult:
            self.started.append((name, one.text))
            begun(self.result.session)
            return self.result

        store = opened(self.path)
        return ScheduleWorker(store, self.settings, self.clock, start, self.events.append, name=name, gone=gone)

    def runs(self, *statuses: DueStatus) -> list[int]:
        """Their due times, as seconds from the clock's first time, in order."""
        return sorted(run.due_at - NOW for run in self.store.runs(*(statuses or DueStatus)))
