"""The times of rules on the days when clocks are changed, compared with zoneinfo and whenever."""

from datetime import datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from whenever import Instant, PlainDateTime

from quintet.features.schedule.parse import parse_when
from quintet.features.schedule.times import at_zone, latest_times, next_after, next_time, times
from quintet.features.schedule.values import AtTimes, AtZoned, CronLine, EveryDuration
from tests.features.schedule.made import BERLIN, NOW, scheduled

DAY = 86_400
# A day with a gap and one with a fold of each: an hour, half an hour, at midnight, and a whole day that was left out.
CHANGES = {
    "Europe/Berlin": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "Australia/Lord_Howe": ("2026-10-04", "2026-04-05"),
    "America/Sao_Paulo": ("2018-11-04", "2018-02-18"),
    "Pacific/Apia": ("2011-12-30", "2012-04-01"),
}
BOTH = [(zone, date) for zone, dates in CHANGES.items() for date in dates]
fields = st.lists(st.integers(0, 59), min_size=1, max_size=3, unique=True)
hours = st.lists(st.integers(0, 4) | st.integers(0, 23), min_size=1, max_size=3, unique=True)


def window(zone: str, date: str) -> tuple[int, int]:
    """Two days before a date and three after it, there."""
    at = datetime.fromisoformat(date).replace(tzinfo=ZoneInfo(zone))
    return int(at.timestamp()) - 2 * DAY, int(at.timestamp()) + 3 * DAY


def found(line: str, zone: str, start: int, end: int) -> list[int]:
    return list(takewhile(lambda time: time <= end, times(CronLine(line, zone), start)))


@pytest.mark.parametrize(("zone", "date"), BOTH)
@settings(max_examples=15)
@given(minutes=fields, hours=hours)
def test_times_of_day_come_once_and_skipped_ones_later(
    zone: str, date: str, minutes: list[int], hours: list[int]
) -> None:
    start, end = window(zone, date)
    walls = [
        datetime.fromisoformat(date) + timedelta(days=day, hours=hour, minutes=minute)
        for day in range(-4, 6)
        for hour in hours
        for minute in minutes
    ]
    by_zoneinfo = {int(wall.replace(tzinfo=ZoneInfo(zone), fold=0).timestamp()) for wall in walls}
    resolved = (PlainDateTime(wall).assume_tz(zone, disambiguation="compatible") for wall in walls)
    by_whenever = {int(one.to_instant().timestamp()) for one in resolved}
    line = f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *"
    expected = sorted(time for time in by_zoneinfo if start < time <= end)
    assert by_zoneinfo == by_whenever
    assert found(line, zone, start, end) == expected
    clocks = tuple(f"{hour:02}:{minute:02}" for hour in hours for minute in minutes)
    named = takewhile(lambda time: time <= end, times(AtTimes(clocks, zone), start))
    assert list(named) == expected


@pytest.mark.parametrize(("zone", "date"), BOTH)
@settings(max_examples=5)
@given(step=st.sampled_from([5, 15, 30]), hour=st.sampled_from(["*", "*/2", "0-4"]))
def test_a_line_with_a_star_goes_by_the_clock_as_it_runs(zone: str, date: str, step: int, hour: str) -> None:
    start, end = window(zone, date)
    wanted = {"*": range(24), "*/2": range(0, 24, 2), "0-4": range(5)}[hour]
    shown = ((time, datetime.fromtimestamp(time, ZoneInfo(zone))) for time in range(start + 60, end + 1, 60))
    expected = [time for time, wall in shown if wall.minute % step == 0 and wall.hour in wanted]
    assert found(f"*/{step} {hour} * * *", zone, start, end) == expected


@pytest.mark.parametrize(("zone", "date"), BOTH)
def test_a_duration_knows_no_clock(zone: str, date: str) -> None:
    start, _ = window(zone, date)
    rule = EveryDuration("PT1H30M", Instant.from_timestamp(start).format_iso())
    assert list(islice(times(rule, start), 80)) == [start + 5_400 * number for number in range(1, 81)]


def test_the_stated_rule_in_berlin() -> None:
    daily = AtTimes(("02:30",), BERLIN)
    assert [at_zone(time, BERLIN) for time in islice(times(daily, NOW), 3)] == [
        "Sat 2026-03-28 02:30",
        "Sun 2026-03-29 03:30",
        "Mon 2026-03-30 02:30",
    ]
    autumn = int(Instant("2026-10-24T22:00Z").timestamp())
    first, second = islice(times(daily, autumn), 2)
    assert Instant.from_timestamp(first).format_iso() == "2026-10-25T00:30:00Z"  # summer time still
    assert second - first == 25 * 3600


def test_a_zoned_time_keeps_its_wall_when_the_zone_changes_its_mind() -> None:
    rule = AtZoned("2026-12-01T09:00:00+05:00[Europe/Berlin]")  # an offset that was once foreseen
    at = next_after(rule, NOW)
    assert at and at_zone(at, BERLIN) == "Tue 2026-12-01 09:00"
    assert next_after(rule, at) is None


def test_no_time_comes_after_the_last_date() -> None:
    one = scheduled(AtTimes(("23:30",), BERLIN), until="2026-03-28")
    first = next_time(one, NOW)
    second = next_time(one, first or 0)
    assert second and at_zone(second, BERLIN) == "Sat 2026-03-28 23:30"
    assert next_time(one, second) is None


@pytest.mark.parametrize("line", ["* * * * *", "0-59 0-23 1 1 *", "17 4 * * *", "0 0 29 2 *", "*/7 9-17 * * 1-5"])
def test_looking_back_finds_the_last_times_of_many(line: str) -> None:
    one = scheduled(CronLine(line, BERLIN))
    first = next_time(one, NOW - 4_000 * DAY)
    assert first is not None
    found = latest_times(one, first, NOW, 24)
    every = times(one.rule, found[0] - 1)
    assert found == tuple(takewhile(lambda time: time <= NOW, every)) and len(found) <= 24
    assert len(found) == 24 or found[0] == first


def test_looking_back_over_few_times_finds_all_of_them() -> None:
    one = scheduled(parse_when("every 1h", NOW, BERLIN))
    assert latest_times(one, NOW + 3_600, NOW + 3 * 3_600 + 5, 24) == (NOW + 3_600, NOW + 7_200, NOW + 10_800)
    assert latest_times(one, NOW + 3_600, NOW + 3_599, 24) == ()
