"""What becomes of due times, by the policy for missed runs. Pure."""

from __future__ import annotations

from msgspec import Struct

from quintet.features.schedule.values import MissedRuns


class DuePlan(Struct, frozen=True):
    run: tuple[int, ...] = ()
    expire: tuple[tuple[int, str], ...] = ()  # with the reason
    next: int | None = None  # none is left: the schedule ends


MISSED = "missed"
WAITS = "the run before it had not begun"
RUNNING = "the run before it had not ended"
LATER = "missed; a later time was run in its place"
TOO_MANY = "missed; more times than schedule.max_missed were"


def due_plan(
    times: tuple[int, ...],
    now: int,
    policy: MissedRuns,
    *,
    next_time: int | None,
    late: int,
    most: int,
    waiting: int = 0,
    running: bool = False,
) -> DuePlan:
    """`times` are those up to now, in order, the last of them not the only one that counts; `waiting` of it are due."""
    if not times:
        return DuePlan(next=next_time)
    *earlier, last = times
    if policy is MissedRuns.ALL:
        room = max(0, most - waiting)
        run = times[len(times) - room :] if room < len(times) else times
        return DuePlan(run, tuple((one, TOO_MANY) for one in times if one not in run), next_time)
    if waiting:
        return DuePlan((), (*((one, MISSED) for one in earlier), (last, WAITS)), next_time)
    if policy is MissedRuns.SKIP and (running or now - last > late):
        why = MISSED if now - last > late else RUNNING
        return DuePlan((), (*((one, MISSED) for one in earlier), (last, why)), next_time)
    return DuePlan((last,), tuple((one, LATER if policy is MissedRuns.ONCE else MISSED) for one in earlier), next_time)
