"""The times of a rule, in order. Pure but for the machine's time zone database.

One rule for the days on which a clock is changed: a time of day that the clock skips comes as much later as the clock
was put forward (02:30 is 03:30), and one that it shows twice comes the first time only. A cron line with `*` in front
of its minutes or hours goes by the clock as it runs: both times, and not in the hour that is skipped. `every` counts
the time that passes, and knows no clock.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from whenever import Date, Instant, PlainDateTime, TimeDelta, TimeZoneNotFoundError, ZonedDateTime

from quintet.adapters.files.real_path import real_path
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import exactly
from quintet.domain.base.wording import did_you_mean
from quintet.features.schedule.values import (
    LAST_DAY,
    AtInstant,
    AtTimes,
    AtZoned,
    CronLine,
    EveryDuration,
    Rule,
    Schedule,
)

DAY = 86_400
MOST_STEPS = 200_000  # of a search, so that no rule can hold up a worker
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{0,63}")
_CRON_ERRORS = (CronSimError, ValueError, AssertionError, TypeError, IndexError)


def known_zone(name: str) -> str:
    """The zone by its own name; an unknown one is an error that says what was meant."""
    try:
        if not _ZONE.fullmatch(name):
            raise TimeZoneNotFoundError
        zone = Instant.from_timestamp(0).to_tz(name).tz_id
        ZoneInfo(zone or name)
    except (ValueError, OSError):
        near = did_you_mean(name[:64], sorted(available_timezones()))
        hint = "Use a name of the time zone database, for example --tz Europe/Berlin."
        raise UsageError(f"time zone {exactly(name[:64])}: not known.{near}", hint=hint) from None
    return zone or name


def system_zone(etc: str = "/etc") -> str:
    """The machine's time zone by its name; UTC if it has none."""
    candidates = [os.environ.get("TZ", "").removeprefix(":")]
    try:
        candidates.append(real_path(os.path.join(etc, "localtime")).partition("/zoneinfo/")[2])
        with open(os.path.join(etc, "timezone"), encoding="utf-8") as file:
            candidates.append(file.read(100).strip())
    except (OSError, ValueError):
        pass
    for name in filter(None, candidates):
        try:
            return known_zone(name)
        except UsageError:
            continue
    return "UTC"


def seconds_of(instant: Instant) -> int:
    return int(instant.timestamp())


def instant_of(seconds: int) -> Instant:
    return Instant.from_timestamp(seconds)


def at_zone(seconds: int, zone: str) -> str:
    """A time as a person reads it: `Thu 2026-11-19 07:30`, in a zone."""
    try:
        return str(instant_of(seconds).to_tz(zone).to_stdlib().strftime("%a %Y-%m-%d %H:%M"))
    except (ValueError, OSError):
        return instant_of(seconds).format_iso()


def iso(seconds: int) -> str:
    return instant_of(seconds).format_iso()


def wall_to_instant(wall: datetime, zone: str) -> int:
    """The moment at which a clock there shows it, by the rule above."""
    return seconds_of(PlainDateTime(wall).assume_tz(zone, disambiguation="compatible").to_instant())


def next_after(rule: Rule, after: int) -> int | None:
    """The first time of a rule that is later than `after`; None if there is none."""
    try:
        match rule:
            case AtInstant(instant):
                return _later(seconds_of(Instant(instant)), after)
            case AtZoned(zoned):
                at = ZonedDateTime.parse_iso(zoned, disambiguation="compatible", offset_mismatch="keep_local")
                return _later(seconds_of(at.to_instant()), after)
            case EveryDuration(duration, since):
                step, first = int(TimeDelta(duration).total("seconds")), seconds_of(Instant(since))
                return first + step * max(1, (after - first) // step + 1)
            case AtTimes():
                found = [_next_wall(line, rule.zone, after) for line in _lines(rule)]
                return min((one for one in found if one is not None), default=None)
            case CronLine(line, zone):
                return _next_shown(line, zone, after) if follows_clock(line) else _next_wall(line, zone, after)
    except (OverflowError, StopIteration, ZeroDivisionError):
        return None
    except _CRON_ERRORS:
        return None


def next_time(schedule: Schedule, after: int) -> int | None:
    """The next time of a schedule, which may have a last date."""
    found = next_after(schedule.rule, after)
    if found is None or not schedule.until:
        return found
    try:
        end = Date(schedule.until).add(days=1)
        last = wall_to_instant(datetime(end.year, end.month, end.day), schedule.zone)
    except (ValueError, OverflowError):
        return found
    return found if found < last else None


def times(rule: Rule, after: int) -> Iterator[int]:
    while (found := next_after(rule, after)) is not None:
        yield found
        after = found


def latest_times(schedule: Schedule, first: int, now: int, most: int) -> tuple[int, ...]:
    """The last few times from `first` to `now`, in order. It looks back from now: a year of minutes is cheap."""
    span = 3600
    while True:
        start = max(first, now - span)
        found: deque[int] = deque(maxlen=most)
        time: int | None = start - 1
        for _ in range(MOST_STEPS):
            time = next_time(schedule, time if time is not None else now)
            if time is None or time > now:
                break
            found.append(time)
        if start == first or len(found) == most:
            return tuple(found)
        span *= 4


def follows_clock(line: str) -> bool:
    """Whether a cron line goes by the clock as it runs: its minutes or its hours are open."""
    minutes, hours = line.split()[:2]
    return minutes.startswith("*") or hours.startswith("*")


def usable_cron(line: str) -> bool:
    try:
        return len(line.split()) == 5 and bool(CronSim(line, datetime(2000, 1, 1)))
    except _CRON_ERRORS:
        return False


def _later(at: int, after: int) -> int | None:
    return at if at > after else None


def _lines(rule: AtTimes) -> Iterator[str]:
    """The rule as cron lines, one for each time of day."""
    days = ",".join("L" if day == LAST_DAY else str(day) for day in rule.month_days) or "*"
    weekdays = ",".join(str(day) for day in rule.weekdays) or "*"
    for time in rule.times:
        hour, minute = time.split(":")[:2]
        yield f"{int(minute)} {int(hour)} {days} * {weekdays}"


def _next_shown(line: str, zone: str, after: int) -> int | None:
    """From one change of the clock to the next a wall and a moment run alike."""
    for _ in range(MOST_STEPS):
        here = instant_of(after).to_tz(zone)
        wall = here.to_plain().to_stdlib()
        moment = after + int((next(CronSim(line, wall)) - wall).total_seconds())
        change = here.next_transition()
        if change is None or moment < seconds_of(change.to_instant()):
            return moment
        after = seconds_of(change.to_instant())
        if _shows(line, change.to_plain().to_stdlib()):
            return after
    return None


def _shows(line: str, wall: datetime) -> bool:
    return next(CronSim(line, wall - timedelta(seconds=1))) == wall


def _next_wall(line: str, zone: str, after: int) -> int | None:
    """The order of walls is not that of moments where a clock was put forward: what it skipped comes later."""
    here = instant_of(after).to_tz(zone)
    put_forward = max(0.0, (here.offset - instant_of(after - 25 * 3600).to_tz(zone).offset).total("seconds"))
    walls = CronSim(line, here.to_plain().to_stdlib() - timedelta(seconds=put_forward))
    best: int | None = None
    for wall in islice(walls, MOST_STEPS):
        moment = wall_to_instant(wall, zone)
        if best is not None and wall >= instant_of(best).to_tz(zone).to_plain().to_stdlib():
            break
        if moment > after and (best is None or moment < best):
            best = moment
    return best
