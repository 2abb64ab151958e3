"""Settings of the schedule. All of them are the user's own: no project says when or how much is run."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import OWN, setting
from quintet.features.schedule.values import MissedRuns


class ScheduleSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Work that begins at a time; `quintet schedule add` adds some, `quintet schedule install` has it run."""

    zone: Annotated[
        str, setting("time zone of new schedules without --tz, as Europe/Berlin; empty: the system's", OWN)
    ] = ""
    missed: Annotated[
        MissedRuns, setting("what new schedules do about times that passed unattended: skip, once or all", OWN)
    ] = MissedRuns.ONCE
    late_minutes: Annotated[float, setting("minutes after its time that a run still counts as on time", OWN)] = 5.0
    max_missed: Annotated[
        int, setting("how many passed times of one schedule are run at most, with missed all", OWN)
    ] = 24
    parallel: Annotated[int, setting("how many scheduled runs go at once", OWN)] = 2
    max_minutes: Annotated[float, setting("minutes after which a scheduled run is ended", OWN)] = 120.0
