"""What can be done with schedules, on every surface: add, list, next, pause, resume, run, remove, history."""

from __future__ import annotations

import heapq
import re
from itertools import islice

import msgspec
from msgspec import Struct

from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.safe_text import exactly
from quintet.domain.base.wording import did_you_mean
from quintet.features.schedule.parse import parse_until, parse_when
from quintet.features.schedule.port import ScheduleStore
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.times import known_zone, next_time, system_zone
from quintet.features.schedule.values import DueRun, DueStatus, MissedRuns, Schedule, ScheduledWork, ScheduleState

MOST_SCHEDULES = 500
MOST_SHOWN = 1_000
MOST_TEXT = 100_000
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class TimeToCome(Struct, frozen=True):
    """A time to come."""

    schedule: Schedule
    at: int


class ScheduleView(Struct, frozen=True):
    """A schedule with what is known about its times."""

    schedule: Schedule
    next: int | None = None
    last: DueRun | None = None
    running: DueRun | None = None


class ScheduleBook:
    def __init__(self, store: ScheduleStore, settings: ScheduleSettings, owner: str) -> None:
        self.store = store
        self._settings = settings
        self._owner = owner

    def add(
        self,
        when: str,
        work: ScheduledWork,
        now: int,
        *,
        project: str,
        zone: str = "",
        name: str = "",
        missed: MissedRuns | None = None,
        until: str = "",
    ) -> TimeToCome:
        _check_text(work.text)
        zone = known_zone(zone or self._settings.zone or system_zone())
        made = Schedule(
            name=name or self._free_name(),
            owner=self._owner,
            project=project,
            when=" ".join(when.split()),
            rule=parse_when(when, now, zone),
            zone=zone,
            work=work,
            missed=missed or self._settings.missed,
            until=parse_until(until) if until else "",
            created=now,
        )
        if not _NAME.fullmatch(made.name):
            hint = "Use lowercase letters, digits and dashes, at most 40, for example --name nightly-report."
            raise UsageError(f"name {exactly(made.name[:60])}: cannot be used", hint=hint)
        first = next_time(made, now)
        if first is None:
            raise UsageError(f"--until {made.until}: no time comes before it", hint="Use a later date, or none.")
        if len(self.store.schedules()) >= MOST_SCHEDULES:
            raise UsageError(f"there are {MOST_SCHEDULES} schedules, no more are kept", hint="Remove some first.")
        while not self.store.add(made, first):
            if not name:  # another was quicker to take that name
                made = msgspec.structs.replace(made, name=self._free_name())
                continue
            raise UsageError(f"there is already a schedule {made.name}", hint="Use another --name, or remove it first.")
        return TimeToCome(made, first)

    def views(self, project: str = "") -> list[ScheduleView]:
        """Of one project, or of all."""
        queued = {run.schedule: run.due_at for run in self.store.runs(DueStatus.QUEUED)}
        found = []
        for one in self.store.schedules():
            if project in ("", one.project):
                over = self.store.runs(DueStatus.CONSUMED, DueStatus.EXPIRED, schedule=one.name, most=1)
                held = self.store.runs(DueStatus.CLAIMED, DueStatus.DISPATCHED, schedule=one.name, most=1)
                next_ = queued.get(one.name) if one.state is ScheduleState.ACTIVE else None
                found.append(ScheduleView(one, next_, next(iter(over), None), next(iter(held), None)))
        return found

    def coming(self, project: str, number: int) -> list[TimeToCome]:
        """The next times of all active schedules, in order."""
        if not 1 <= number <= MOST_SHOWN:
            raise UsageError(f"{number} times cannot be shown: 1 to {MOST_SHOWN}")

        def of(view: ScheduleView) -> list[tuple[int, str, TimeToCome]]:
            found: list[tuple[int, str, TimeToCome]] = []
            time = view.next
            while time is not None and len(found) < number:
                found.append((time, view.schedule.name, TimeToCome(view.schedule, time)))
                time = next_time(view.schedule, time)
            return found

        merged = heapq.merge(*(of(view) for view in self.views(project)), key=lambda one: one[:2])
        return [planned for _, _, planned in islice(merged, number)]

    def pause(self, name: str) -> Schedule:
        found = self.find(name)
        if found.state is ScheduleState.ENDED:
            raise UsageError(f"{name} has ended: there is nothing to pause")
        self.store.set_state(name, ScheduleState.PAUSED)
        return found

    def resume(self, name: str, now: int) -> TimeToCome:
        """From now on: what passed meanwhile is not made up for."""
        found = self.find(name)
        if found.state is not ScheduleState.PAUSED:
            raise UsageError(f"{name} is not paused: it is {found.state}")
        first = requeue_after(self.store, found, now)
        if first is None:
            self.store.set_state(name, ScheduleState.ENDED)
            raise UsageError(f"{name} has ended meanwhile: none of its times is left")
        self.store.set_state(name, ScheduleState.ACTIVE)
        return TimeToCome(found, first)

    def put_due(self, name: str, now: int) -> DueRun:
        self.find(name)
        run = self.store.put_due(name, now)
        if run is None:
            raise UsageError(f"a run of {name} is already waiting or running", hint=f"quintet schedule history {name}")
        return run

    def remove(self, name: str) -> Schedule | None:
        found = self.store.find(name)
        if not self.store.remove(name):
            self.find(name)
        return found

    def history(self, name: str, project: str, number: int) -> list[DueRun]:
        if not 1 <= number <= MOST_SHOWN:
            raise UsageError(f"{number} runs cannot be shown: 1 to {MOST_SHOWN}")
        if name:
            self.find(name)
        names = {one.name for one in self.store.schedules() if project in ("", one.project)}
        statuses = (DueStatus.CONSUMED, DueStatus.EXPIRED, DueStatus.DISPATCHED, DueStatus.CLAIMED, DueStatus.DUE)
        runs = self.store.runs(*statuses, schedule=name, most=number if name else MOST_SHOWN)
        return [run for run in runs if name or run.schedule in names][:number]

    def find(self, name: str) -> Schedule:
        found = self.store.find(name)
        if found is None:
            near = did_you_mean(name[:40], [one.name for one in self.store.schedules()])
            hint = "quintet schedule list --all shows all of them."
            raise NotFound(f"there is no schedule {exactly(name[:60])}.{near}", hint=hint)
        return found

    def _free_name(self) -> str:
        taken = {one.name for one in self.store.schedules()} | set(self.store.unreadable())
        return next(name for number in range(1, len(taken) + 2) if (name := f"s{number}") not in taken)


def requeue_after(store: ScheduleStore, schedule: Schedule, now: int) -> int | None:
    """Queue the first time after now that was not due before; None if there is none."""
    time = next_time(schedule, now)
    while time is not None and not store.requeue(schedule.name, time):
        time = next_time(schedule, time)
    return time


def _check_text(text: str) -> None:
    if not text.strip():
        raise UsageError("nothing to do: the text is empty", hint='For example -- "summarise the open issues".')
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError("the text is not UTF-8 text")
    if len(text) > MOST_TEXT:
        raise UsageError(f"the text has {len(text)} characters, at most {MOST_TEXT} are kept")
