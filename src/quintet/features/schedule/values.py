"""What a schedule is: when, what, with which dials; and each time it is due. Every time is kept by its kind.

An instant is the same moment everywhere; a zoned time, a date and a time of day are what a clock on a wall shows; a
duration is time that passes. Due times are instants, in whole seconds since 1970.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.dials.axes import ModelMode, PermissionProfile, RunControl, WorkMode

LAST_DAY = 0  # of a month, among its days


class AtInstant(Struct, frozen=True, tag="instant"):
    """Once, at a moment: `in 2h`, `2026-12-01T09:00Z`."""

    instant: str


class AtZoned(Struct, frozen=True, tag="zoned"):
    """Once, when a clock there shows it: `2026-12-01T09:00`."""

    zoned: str


class EveryDuration(Struct, frozen=True, tag="duration"):
    """Again and again after a time that passes: `every 30m`."""

    duration: str
    since: str  # an instant


class AtTimes(Struct, frozen=True, tag="time"):
    """At times of day, on every day or some: `weekdays 07:30`, `monthly 1 09:00`."""

    times: tuple[str, ...]
    zone: str
    weekdays: tuple[int, ...] = ()  # 1 is Monday; none: every day
    month_days: tuple[int, ...] = ()


class CronLine(Struct, frozen=True, tag="cron"):
    line: str
    zone: str


Rule = AtInstant | AtZoned | EveryDuration | AtTimes | CronLine


class MissedRuns(StrEnum):
    """What becomes of times that passed while nothing could run."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class ScheduledWork(Struct, frozen=True):
    """What `quintet -p` is given. All four dials are said: what a setting becomes later changes none."""

    text: str
    directory: str
    work_mode: WorkMode
    run_control: RunControl
    permission_profile: PermissionProfile
    model_mode: ModelMode
    control_given: bool = False  # autonomous by name goes on to plan and execute; a headless run is autonomous anyway
    agent: str = ""
    model: str = ""
    max_turns: int | None = None
    max_cost: float | None = None


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"  # no time is left


class Schedule(Struct, frozen=True):
    name: str
    owner: str  # whose it is: nobody else's worker runs it
    project: str
    when: str  # as it was written
    rule: Rule
    zone: str  # that its times are shown in
    work: ScheduledWork
    missed: MissedRuns = MissedRuns.ONCE
    until: str = ""  # the last date it runs on
    created: int = 0
    state: ScheduleState = ScheduleState.ACTIVE


class DueStatus(StrEnum):
    QUEUED = "queued"  # its time is to come
    DUE = "due"
    CLAIMED = "claimed"  # by one worker, which is about to start it
    DISPATCHED = "dispatched"  # its process is being started, or runs
    CONSUMED = "consumed"  # over, however it ended
    EXPIRED = "expired"  # its time passed, and it is not run


# A run that was dispatched is never started again, since nobody knows how far it came.
MOVES: dict[DueStatus, frozenset[DueStatus]] = {
    DueStatus.QUEUED: frozenset({DueStatus.DUE, DueStatus.EXPIRED}),
    DueStatus.DUE: frozenset({DueStatus.CLAIMED, DueStatus.EXPIRED}),
    DueStatus.CLAIMED: frozenset({DueStatus.DISPATCHED, DueStatus.DUE, DueStatus.EXPIRED}),
    DueStatus.DISPATCHED: frozenset({DueStatus.CONSUMED}),
    DueStatus.CONSUMED: frozenset(),
    DueStatus.EXPIRED: frozenset(),
}


def may_move(before: DueStatus, after: DueStatus) -> bool:
    return after in MOVES[before]


class DueRun(Struct, frozen=True):
    """One time that a schedule is due."""

    id: str
    schedule: str
    owner: str
    due_at: int
    status: DueStatus
    by_hand: bool = False  # asked for by `run`
    claimed_by: str = ""
    expires_at: int = 0  # of the claim, unless it is renewed
    dispatched_at: int = 0
    consumed_at: int = 0
    exit_code: int | None = None
    session: str = ""
    result: str = ""  # done, needs_work, blocked, …; unknown if nobody saw its end
    reason: str = ""


class RunResult(Struct, frozen=True):
    """How a run ended."""

    exit_code: int | None
    session: str = ""
    result: str = ""
    reason: str = ""
