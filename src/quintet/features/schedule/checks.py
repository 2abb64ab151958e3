"""For the doctor: schedules that cannot run, and times that passed with nobody to run them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.stores.chosen import database_url
from quintet.domain.base.errors import StoreError, UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import TableSchedules, is_there, open_schedules
from quintet.features.schedule.values import DueStatus, ScheduleState
from quintet.package import load

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup


SCHEDULE_UNREADABLE = FindingKind(
    "SCHEDULE_UNREADABLE",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The file of schedules, or a row in it, cannot be read.",
    "Move the file away, or remove the schedule: quintet schedule remove NAME",
)
SCHEDULE_PROJECT_GONE = FindingKind(
    "SCHEDULE_PROJECT_GONE",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The folder of a schedule was deleted or moved.",
    "quintet schedule remove NAME",
)
SCHEDULE_ZONE_UNKNOWN = FindingKind(
    "SCHEDULE_ZONE_UNKNOWN",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The time zone of a schedule is not known on this machine.",
    "Install the system's tzdata.",
)
SCHEDULE_MISSED = FindingKind(
    "SCHEDULE_MISSED",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The time of a schedule has passed, and no worker has run it.",
    "quintet schedule install has it run each minute, quintet schedule work --once now.",
)
KINDS = (SCHEDULE_UNREADABLE, SCHEDULE_PROJECT_GONE, SCHEDULE_ZONE_UNKNOWN, SCHEDULE_MISSED)
MOST_NAMED = 5


def schedules_can_run(checkup: Checkup) -> Iterator[Finding]:
    """Of all projects: the folder of one that is gone has no doctor of its own."""
    shared = bool(database_url(checkup.places))
    if not (checkup.thorough if shared else is_there()):
        return
    try:
        store = open_schedules(checkup.places)
    except StoreError as error:
        if shared:
            return  # the database has a check of its own
        yield SCHEDULE_UNREADABLE.of("schedule.db", error.message, error.hint or "Move it away.")
        return
    with contextlib.closing(store):
        settings = checkup.settings.table("schedule", ScheduleSettings)
        yield from _problems(store, settings, int(store.epoch()))


def _problems(store: TableSchedules, settings: ScheduleSettings, now: int) -> Iterator[Finding]:
    known_zone = load("times:known_zone", __package__)  # who has no schedule does without time zones
    for name in store.unreadable():
        remove = f"quintet schedule remove {on_one_line(name)}"
        yield SCHEDULE_UNREADABLE.of(on_one_line(name), "its row is no schedule; it is not run", remove)
    active = [one for one in store.schedules() if one.state is ScheduleState.ACTIVE]
    for one in active:
        if not os.path.isdir(one.work.directory):
            problem = f"its folder {on_one_line(one.work.directory)} no longer exists"
            yield SCHEDULE_PROJECT_GONE.of(one.name, problem, f"quintet schedule remove {one.name}")
        try:
            known_zone(one.zone)
        except UsageError:
            problem = f"its time zone {on_one_line(one.zone)} is not known on this machine"
            yield SCHEDULE_ZONE_UNKNOWN.of(one.name, problem)
    late = now - int(settings.late_minutes * 60)
    waiting = [run for run in store.runs(DueStatus.QUEUED, DueStatus.DUE) if run.due_at < late]
    places = {one.name: on_one_line(one.project) for one in active}
    if missed := sorted({run.schedule for run in waiting} & set(places)):
        named = ", ".join(f"{name} ({places[name]})" for name in missed[:MOST_NAMED])
        more = f" and {len(missed) - MOST_NAMED} more" if len(missed) > MOST_NAMED else ""
        problem = f"the time of {named}{more} has passed, and no worker has run it"
        yield SCHEDULE_MISSED.of(missed[0], problem)
