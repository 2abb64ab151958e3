"""`weekdays 07:30`, `every 30m`, `in 2h`, `2026-12-01T09:00`, a cron line: from words to a rule."""

from __future__ import annotations

import re

from whenever import Date, Instant, PlainDateTime, TimeDelta

from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import exactly
from quintet.domain.base.wording import did_you_mean
from quintet.features.schedule.times import iso, next_after, usable_cron
from quintet.features.schedule.values import LAST_DAY, AtInstant, AtTimes, AtZoned, CronLine, EveryDuration, Rule

EXAMPLES = (
    '"weekdays 07:30", "daily 06:00,18:00", "mon,thu 18:00", "monthly 1 09:00", "every 30m", "in 2h", '
    '"tomorrow 09:00", "2026-12-01T09:00", "*/15 9-17 * * 1-5"'
)
MOST_CHARACTERS = 200
LEAST_EVERY = 60
YEARS_AHEAD = 10
_AHEAD = YEARS_AHEAD * 366 * 86_400
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONG_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_GROUPS = {"daily": (), "weekdays": (1, 2, 3, 4, 5), "weekends": (6, 7)}
_STARTS = (*_GROUPS, "monthly", "every", "in", "today", "tomorrow", *_DAYS)
_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_EVERY = {"day": "daily", "weekday": "weekdays", "weekend": "weekends", **{one: one for one in (*_DAYS, *_LONG_DAYS)}}
_FIELDS = "minute, hour, day of month, month, day of week"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_DURATION = re.compile(r"(?:\d{1,9}[smhdw])+")
_CRON_WORD = re.compile(r"[0-9A-Za-z*,/#-]{1,60}")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(Z|[+-]\d\d:\d\d)?", re.I | re.A)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.A)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)", re.A)


def parse_when(text: str, now: int, zone: str) -> Rule:
    """What a text means at this moment in this zone; what it cannot mean is an error with examples."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"the time is {len(text)} characters long, at most {MOST_CHARACTERS} are read", hint=_hint())
    words = text.lower().split()
    rule = _rule(text.strip(), words, now, zone)
    first = next_after(rule, now)
    if first is None:
        past = isinstance(rule, AtInstant | AtZoned)
        raise _wrong(text, "is in the past" if past else "never occurs")
    if first - now > _AHEAD:
        raise _wrong(text, f"first comes in more than {YEARS_AHEAD} years")
    return rule


def parse_until(text: str) -> str:
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        return Date(text).format_iso()
    except ValueError:
        raise UsageError(f"--until {exactly(text[:40])}: not a date", hint="For example --until 2026-12-31.") from None


def _rule(text: str, words: list[str], now: int, zone: str) -> Rule:
    if not words:
        raise UsageError("no time was said", hint=_hint())
    if words[0] in _ALIASES and len(words) == 1:
        return CronLine(_ALIASES[words[0]], zone)
    if words[0][0] == "*" and len(words) != 5:
        raise _wrong(text, f"has {len(words)} fields, a cron line has 5: {_FIELDS}")
    if len(words) == 5 and words[0][0] in "*0123456789":
        line = " ".join(words).upper()
        if not all(_CRON_WORD.fullmatch(word) for word in words) or not usable_cron(line):
            raise _wrong(text, f"is not a cron line: {_FIELDS}")
        return CronLine(line, zone)
    if words[0] == "every" and (named := _EVERY.get("".join(words[1:2]))):
        words = [named, *words[2:]]
    match words:
        case ["in", *rest]:
            return AtInstant(iso(now + _duration(text, rest, 1)))
        case ["every", *rest]:
            step = TimeDelta(seconds=_duration(text, rest, LEAST_EVERY))
            return EveryDuration(step.format_iso(), iso(now))
        case ["monthly", days, *times] if times:
            return AtTimes(_times(text, times), zone, month_days=_month_days(text, days))
        case ["today" | "tomorrow" as day, *times] if len(times) == 1:
            return _on_day(text, day, times[0], now, zone)
        case [days, *times] if times and not days[0].isdigit():
            return AtTimes(_times(text, times), zone, weekdays=_weekdays(text, days))
    if len(words) == 1 and words[0] in _STARTS:
        raise _wrong(text, f"has no time of day, as in {words[0]} {'1 ' if words[0] == 'monthly' else ''}07:30")
    if found := _MOMENT.fullmatch(text):
        return _moment(text, found[1], found[2], found[3] or "", zone)
    if _DATE.fullmatch(text):
        raise _wrong(text, "is a date without a time: add one, as in 2026-12-01T09:00")
    if _CLOCK.fullmatch(text):
        raise _wrong(text, f"is a time without a day: say daily {text} or tomorrow {text}")
    raise _wrong(text, f"is not a time.{did_you_mean(words[0][:40], _STARTS)}")


def _moment(text: str, date: str, time: str, offset: str, zone: str) -> Rule:
    try:
        if offset:
            return AtInstant(Instant(f"{date}T{time}{offset.upper()}").format_iso())
        return AtZoned(PlainDateTime(f"{date}T{time}").assume_tz(zone, disambiguation="compatible").format_iso())
    except ValueError:
        raise _wrong(text, "is not a date and time that exists") from None


def _on_day(text: str, day: str, time: str, now: int, zone: str) -> Rule:
    (clock,) = _times(text, [time])
    date = Instant.from_timestamp(now).to_tz(zone).date()
    date = date.add(days=1) if day == "tomorrow" else date
    return _moment(text, date.format_iso(), clock, "", zone)


def _duration(text: str, words: list[str], least: int) -> int:
    joined = "".join(words)
    if not _DURATION.fullmatch(joined):
        raise _wrong(text, f"has no duration behind {text.split()[0]}, as 30m, 2h or 1h30m")
    seconds = sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)([smhdw])", joined))
    if seconds < least:
        raise _wrong(text, f"is too short: the least is {'a minute' if least == LEAST_EVERY else 'a second'}")
    if seconds > _AHEAD:
        raise _wrong(text, f"is more than {YEARS_AHEAD} years")
    return seconds


def _times(text: str, words: list[str]) -> tuple[str, ...]:
    found = set()
    for word in ",".join(words).split(","):
        clock = _CLOCK.fullmatch(word)
        if not clock or int(clock[1]) > 23 or int(clock[2]) > 59:
            raise _wrong(f"{text}:", f"{exactly(word[:40])} is not a time of day; write hours and minutes, as 07:30")
        found.add(f"{int(clock[1]):02}:{clock[2]}")
    return tuple(sorted(found))


def _weekdays(text: str, word: str) -> tuple[int, ...]:
    if word in _GROUPS:
        return _GROUPS[word]
    found: set[int] = set()
    for part in word.split(","):
        first, dash, last = part.partition("-")
        begin, end = _weekday(text, first), _weekday(text, last if dash else first)
        found |= {(begin + step - 1) % 7 + 1 for step in range((end - begin) % 7 + 1)}
    return tuple(sorted(found))


def _weekday(text: str, word: str) -> int:
    for names in (_DAYS, _LONG_DAYS):
        if word in names:
            return names.index(word) + 1
    raise _wrong(text, f"begins with {exactly(word[:40])}, which is no day.{did_you_mean(word[:40], _STARTS)}")


def _month_days(text: str, word: str) -> tuple[int, ...]:
    found = set()
    for part in word.split(","):
        if part != "last" and not (part.isascii() and part.isdigit() and len(part) <= 2 and 1 <= int(part) <= 31):
            raise _wrong(text, f"has no day of the month in {exactly(part[:40])}: 1 to 31, or last")
        found.add(LAST_DAY if part == "last" else int(part))
    return tuple(sorted(found))


def _wrong(text: str, what: str) -> UsageError:
    return UsageError(f"{exactly(text[:80])} {what}", hint=_hint())


def _hint() -> str:
    return f"For example {EXAMPLES}."
