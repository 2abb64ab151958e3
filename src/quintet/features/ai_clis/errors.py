"""What an executor's own words about an error mean: which kind of failure it is, and when a limit ends.

Pure: judged by an HTTP status where one is named, else by the words. What fits nothing is nobody's fault here, and the
caller falls back on how the program ended.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from msgspec import Struct

from quintet.domain.tasks.executors import ExecutorFailure


class ExecutorFault(Struct, frozen=True):
    kind: ExecutorFailure
    resets_in: float = 0.0


_STATUS = re.compile(
    r"""(?:status|code|error|http(?:/[\d.]+)?)["']?[\s:=]*\(?([45]\d\d)\b|\(([45]\d\d)\)""", re.IGNORECASE
)
_WORDS: tuple[tuple[ExecutorFailure, re.Pattern[str]], ...] = tuple(
    (kind, re.compile("|".join(words), re.IGNORECASE))
    for kind, words in (
        (
            ExecutorFailure.REFUSED,
            (
                *("credit balance", "insufficient_quota", "billing", "payment required", "invalid_request"),
                *(r"model[^.\n]{0,60}not (?:found|supported|exist)", "context (?:window|length)", "prompt is too long"),
            ),
        ),
        (
            ExecutorFailure.RATE_LIMIT,
            ("rate.?limit", "too many requests", "usage limit", "limit reached", "quota", "resource.exhausted"),
        ),
        (
            ExecutorFailure.LOGIN,
            (
                *("not logged in", "log ?in (?:again|required)", "/login", "please (?:log|sign) in", "unauthor"),
                *("authenticat", r"invalid[^.\n]{0,12}api.key", "missing environment variable", "permission_denied"),
                r"api.key[^.\n]{0,40}(?:invalid|not valid|missing|not set|required|expired)",
                *(r"must specify the \w*api_key", "token (?:has )?expired"),
            ),
        ),
        (
            ExecutorFailure.UNREACHABLE,
            (
                *("connect", "network", "fetch failed", "high demand", "overloaded", "server.?error", "internal error"),
                *("service unavailable", "bad gateway", "stream disconnected", "timed? ?out", "dns", "socket hang up"),
                *("ECONN", "ENOTFOUND"),
            ),
        ),
    )
)
# A status that does not settle it: what its words say instead, if they do.
_RATHER: dict[int, tuple[tuple[ExecutorFailure, re.Pattern[str]], ...]] = {
    400: (
        (ExecutorFailure.LOGIN, re.compile(r"api.key[^.\n]{0,20}(?:invalid|not valid|expired)|invalid.api.key", re.I)),
    ),
    403: (
        (ExecutorFailure.RATE_LIMIT, re.compile("rate.?limit|quota", re.I)),
        (
            ExecutorFailure.REFUSED,
            re.compile(
                r"billing|credit balance|country|region|model|polic(?:y|ies)|blocked|suspended|disabled"
                r"|has not been used|not enabled",
                re.I,
            ),
        ),
    ),
    429: ((ExecutorFailure.REFUSED, re.compile("insufficient_quota|credit balance", re.I)),),
}
_UNIT_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SPAN = re.compile(
    r"(\d+(?:\.\d+)?)\s*(ms\b|milliseconds?|d(?:ays?)?|h(?:ou)?r?s?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)?",
    re.IGNORECASE,
)
_IN = re.compile(
    r"(?:again in|retry in|resets? (?:in|after)|retry[-_ ]?after[\"']?:?|retrydelay[\"']?:?)\s*[\"']?"
    r"((?:\d+(?:\.\d+)?\s*[a-z]*[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"limit reached\|(\d{10})\b", re.IGNORECASE)
_AT = re.compile(
    r"(?:again at|resets?(?: at)?)\s+(?:([A-Z][a-z]{2})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,? (\d{4}),? )?"
    r"(\d{1,2})(?::(\d\d))?\s*([ap])m",
    re.IGNORECASE,
)


def by_status(status: int) -> ExecutorFailure | None:
    if status in (401, 403):
        return ExecutorFailure.LOGIN
    if status == 429:
        return ExecutorFailure.RATE_LIMIT
    if status >= 500 or status in (408, 409, 425):
        return ExecutorFailure.UNREACHABLE
    return ExecutorFailure.REFUSED if status >= 400 else None


def status_in(text: str) -> int:
    """The HTTP status that a text names; 0 if it names none."""
    found = _STATUS.search(text)
    return int(found[1] or found[2]) if found else 0


def judge(text: str, now: datetime, status: int = 0) -> ExecutorFault | None:
    """The fault that an error message speaks of; `now` is local time, for limits that end at a time of day."""
    status = status or status_in(text)
    kind = next((kind for kind, words in _RATHER.get(status, ()) if words.search(text)), by_status(status))
    if kind is None:
        kind = next((kind for kind, words in _WORDS if words.search(text)), None)
    if kind is None:
        return None
    return ExecutorFault(kind, resets_in(text, now) if kind is ExecutorFailure.RATE_LIMIT else 0.0)


def resets_in(text: str, now: datetime) -> float:
    """Seconds until a limit ends, as far as the text says so; 0 if it does not."""
    if found := _EPOCH.search(text):
        return max(float(found[1]) - now.timestamp(), 0.0)
    if found := _IN.search(text):
        spans = [(float(number), unit) for number, unit in _SPAN.findall(found[1])]
        return sum(number * _UNIT_SECONDS[_unit(unit)] for number, unit in spans)
    if found := _AT.search(text):
        return _until(found, now)
    return 0.0


def _unit(word: str) -> str:
    folded = word.lower()
    return "ms" if folded.startswith(("ms", "milli")) else folded[:1] or "s"


def _until(found: re.Match[str], now: datetime) -> float:
    month, day, year, hour, minute, half = found.groups()
    try:
        at = now.replace(
            hour=int(hour) % 12 + (12 if half.lower() == "p" else 0), minute=int(minute or 0), second=0, microsecond=0
        )
        if month:
            named = datetime.strptime(f"{month} {day} {year}", "%b %d %Y")
            at = at.replace(year=named.year, month=named.month, day=named.day)
    except ValueError:
        return 0.0
    if not month and at <= now:
        at += timedelta(days=1)
    return max((at - now).total_seconds(), 0.0)
