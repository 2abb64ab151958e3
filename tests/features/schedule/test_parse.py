"""From words to rules: each form once, and each mistake with what it says."""

import pytest

from quintet.domain.base.errors import UsageError
from quintet.features.schedule.parse import parse_until, parse_when
from quintet.features.schedule.times import at_zone, instant_of, known_zone, next_after, system_zone
from quintet.features.schedule.values import AtInstant, AtTimes, AtZoned, CronLine, EveryDuration, Rule
from tests.features.schedule.made import BERLIN, NOW

FORMS: dict[str, tuple[Rule, str]] = {
    "weekdays 07:30": (AtTimes(("07:30",), BERLIN, weekdays=(1, 2, 3, 4, 5)), "Mon 2026-03-30 07:30"),
    "weekends 9:00": (AtTimes(("09:00",), BERLIN, weekdays=(6, 7)), "Sat 2026-03-28 09:00"),
    "daily 06:00": (AtTimes(("06:00",), BERLIN), "Sat 2026-03-28 06:00"),
    "daily 18:00,06:00": (AtTimes(("06:00", "18:00"), BERLIN), "Fri 2026-03-27 18:00"),
    "mon,thu 18:00": (AtTimes(("18:00",), BERLIN, weekdays=(1, 4)), "Mon 2026-03-30 18:00"),
    "Monday 18:00": (AtTimes(("18:00",), BERLIN, weekdays=(1,)), "Mon 2026-03-30 18:00"),
    "sat-mon 08:00": (AtTimes(("08:00",), BERLIN, weekdays=(1, 6, 7)), "Sat 2026-03-28 08:00"),
    "monthly 1 09:00": (AtTimes(("09:00",), BERLIN, month_days=(1,)), "Wed 2026-04-01 09:00"),
    "monthly last 09:00": (AtTimes(("09:00",), BERLIN, month_days=(0,)), "Tue 2026-03-31 09:00"),
    "monthly 31 09:00": (AtTimes(("09:00",), BERLIN, month_days=(31,)), "Tue 2026-03-31 09:00"),
    "every day 06:00": (AtTimes(("06:00",), BERLIN), "Sat 2026-03-28 06:00"),
    "every monday 18:00": (AtTimes(("18:00",), BERLIN, weekdays=(1,)), "Mon 2026-03-30 18:00"),
    "every 30m": (EveryDuration("PT30M", "2026-03-27T12:00:00Z"), "Fri 2026-03-27 13:30"),
    "every 1h 30m": (EveryDuration("PT1H30M", "2026-03-27T12:00:00Z"), "Fri 2026-03-27 14:30"),
    "in 2h": (AtInstant("2026-03-27T14:00:00Z"), "Fri 2026-03-27 15:00"),
    "in 90s": (AtInstant("2026-03-27T12:01:30Z"), "Fri 2026-03-27 13:01"),
    "tomorrow 09:00": (AtZoned("2026-03-28T09:00:00+01:00[Europe/Berlin]"), "Sat 2026-03-28 09:00"),
    "2026-12-01T09:00": (AtZoned("2026-12-01T09:00:00+01:00[Europe/Berlin]"), "Tue 2026-12-01 09:00"),
    "2026-07-01 09:00": (AtZoned("2026-07-01T09:00:00+02:00[Europe/Berlin]"), "Wed 2026-07-01 09:00"),
    "2026-12-01T09:00Z": (AtInstant("2026-12-01T09:00:00Z"), "Tue 2026-12-01 10:00"),
    "2026-12-01T09:00+05:00": (AtInstant("2026-12-01T04:00:00Z"), "Tue 2026-12-01 05:00"),
    "*/15 9-17 * * 1-5": (CronLine("*/15 9-17 * * 1-5", BERLIN), "Fri 2026-03-27 13:15"),
    "0 0 29 feb *": (CronLine("0 0 29 FEB *", BERLIN), "Tue 2028-02-29 00:00"),
    "@weekly": (CronLine("0 0 * * 0", BERLIN), "Sun 2026-03-29 00:00"),
}
MISTAKES = {
    "": "no time was said",
    "every 0s": "too short",
    "every 59s": "too short",
    "every": "no duration",
    "every 30": "no duration",
    "every 999999999w": "more than 10 years",
    "in 0s": "too short",
    "2020-01-01T09:00": "in the past",
    "9999-12-31T23:59": "more than 10 years",
    "2026-02-30T09:00": "that exists",
    "2026-12-01": "a date without a time",
    "07:30": "daily 07:30",
    "daily": "no time of day, as in daily 07:30",
    "daily 24:00": "daily 24:00: 24:00 is not a time of day",
    "daily 7": "daily 7: 7 is not a time of day",
    "weekday 07:30": "Did you mean weekdays?",
    "monthly 0 09:00": "no day of the month",
    "monthly 32 09:00": "no day of the month",
    "monthly ² 09:00": "no day of the month",
    "* * * *": "4 fields",
    "* * * * * *": "6 fields",
    "61 * * * *": "not a cron line",
    "0 0 31 2 *": "not a cron line",
    "0 0 * * 5L/2": "not a cron line",
    "*/0 * * * *": "not a cron line",
    "0 0 * 2 MON#5": "more than 10 years",
    "sometime": "is not a time",
    "\x1b]0;owned\x07 07:30": "no day",
    "x" * 300: "300 characters",
}


@pytest.mark.parametrize("words", FORMS)
def test_each_form_is_kept_by_its_kind(words: str) -> None:
    rule, first = FORMS[words]
    assert parse_when(words, NOW, BERLIN) == rule
    at = next_after(rule, NOW)
    assert at is not None and at_zone(at, BERLIN) == first


@pytest.mark.parametrize("words", MISTAKES)
def test_each_mistake_says_what_is_wrong_and_gives_examples(words: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_when(words, NOW, BERLIN)
    assert MISTAKES[words] in raised.value.message and "weekdays 07:30" in (raised.value.hint or "")
    assert "\x1b" not in raised.value.message and len(raised.value.message) < 300


def test_a_zone_is_known_by_its_own_name_and_a_wrong_one_by_the_nearest() -> None:
    assert known_zone("europe/berlin") == "Europe/Berlin"
    for wrong in ("Europe/Berln", "../../etc/passwd", "", "\x1b[31m", "/etc/localtime", "Europe/Berlin\0"):
        with pytest.raises(UsageError) as raised:
            known_zone(wrong)
        assert "\x1b" not in raised.value.message
        assert "not known" in raised.value.message and "Europe/Berlin" in (raised.value.hint or "")
    with pytest.raises(UsageError, match=r"Did you mean Europe/Berlin\?"):
        known_zone("Europe/Berln")


def test_the_systems_zone_has_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert system_zone() == "America/New_York"
    monkeypatch.setenv("TZ", "nonsense")
    assert system_zone(str(tmp_path)) == "UTC"


def test_until_is_a_date() -> None:
    assert parse_until("2026-12-31") == "2026-12-31"
    for wrong in ("31.12.2026", "2026-02-30", "2026-12-31T10:00", "tomorrow"):
        with pytest.raises(UsageError, match="not a date"):
            parse_until(wrong)


def test_a_time_is_shown_in_its_zone() -> None:
    assert at_zone(NOW, "Asia/Kathmandu") == "Fri 2026-03-27 17:45"
    assert at_zone(NOW, "No/Zone") == instant_of(NOW).format_iso()
