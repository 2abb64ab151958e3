"""What model requests were made and what they cost. A start of an AI CLI is one, too.

Costs are those on record, at the prices of the time; a price that is set later changes nothing that was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct, field

from quintet.domain.base.errors import UsageError
from quintet.domain.base.text_table import GAP, table
from quintet.domain.base.wording import counted, did_you_mean
from quintet.domain.dials import badge
from quintet.domain.dials.axes import Axes
from quintet.domain.journal.protocol import (
    ExecutorEnded,
    HistoryCompacted,
    ModelConsulted,
    ModelReplied,
    ModelRequested,
    Recorded,
)
from quintet.domain.tasks.roles import ExecutorRole
from quintet.domain.turn.messages import Usage
from quintet.engine.reports.activities import Activities, ActivityKind, TimedActivity

# The types of events read here.
KINDS = (
    *("model_requested", "model_replied", "model_failed", "model_consulted", "history_compacted"),
    *("executor_ended", "turn_finished"),
)
ROLES = frozenset(map(str, ExecutorRole))  # the stages of what AI CLIs did
CONSULT = "consult"  # the stage of a request that a call made
LEVELS = {"info": 0, "warning": 1, "error": 2}
_LEVEL_OF = {"ok": "info", "open": "info", "retry": "warning", "interrupted": "warning", "error": "error"}
FREE = "builtin"  # the offline rules have no price and need none


class RequestLine(Struct, frozen=True, gc=False):
    """One model request, as `quintet logs --json` writes it."""

    seq: int
    at: str
    level: str  # info | warning | error
    conversation: str
    run: str
    turn: str
    step: str
    user_mode: str
    stage: str
    model: str
    attempt: int
    tool_count: int
    reasoning: bool
    axes: Axes
    badge: str
    outcome: str  # ok | retry | error | interrupted | open (no reply on record yet)
    code: str = ""  # of the error
    usage: Usage = Usage()
    cost: float = 0.0
    seconds: float | None = None  # none where the end is not on record


class Requests:
    """Follows a journal, in one go or bit by bit: `apply` gives the lines that an event completes."""

    def __init__(self) -> None:
        self._activities = Activities()

    def apply(self, recorded: Recorded) -> list[RequestLine]:
        return request_lines(self._activities.apply(recorded))

    def still_open(self) -> list[RequestLine]:
        return request_lines(self._activities.still_open(ActivityKind.REQUEST))


def request_lines(activities: Iterable[TimedActivity]) -> list[RequestLine]:
    return [_line(activity) for activity in activities if activity.kind is ActivityKind.REQUEST]


def _line(request: TimedActivity) -> RequestLine:
    event = request.begun.event
    told: ModelReplied | HistoryCompacted | ModelConsulted | ExecutorEnded | None
    match event:
        case ModelRequested():
            user_mode, stage, model, attempt = event.user_mode, event.stage, event.model, event.attempt
            tool_count, reasoning = event.tool_count, event.reasoning
            told = request.spent if request.outcome != "open" else None
        case ModelConsulted():
            user_mode, stage, model, attempt = event.axes.user_mode, CONSULT, event.model, 1
            tool_count, reasoning, told = 0, False, event
        case ExecutorEnded():
            user_mode, stage, model, attempt = event.axes.user_mode, event.role, event.executor, event.attempt
            tool_count, reasoning, told = 0, False, event
        case _:
            raise TypeError(f"{type(event).__name__} is not a request")
    return RequestLine(
        seq=request.begun.seq,
        at=request.begun.at,
        level=_LEVEL_OF[request.outcome],
        conversation=event.conversation,
        run=event.run,
        turn=event.turn,
        step=request.key,
        user_mode=user_mode,
        stage=stage,
        model=model,
        attempt=attempt,
        tool_count=tool_count,
        reasoning=reasoning,
        axes=event.axes,
        badge=badge.full(event.axes),
        outcome=request.outcome,
        code=request.code,
        usage=told.usage if told else Usage(),
        cost=told.cost if told else 0.0,
        seconds=request.seconds,
    )


def requests(events: Iterable[Recorded]) -> list[RequestLine]:
    """Every request of a journal, in the order they were made; of a helper that is in it, its own requests count."""
    events = list(events)
    own = {one.event.conversation for one in events if isinstance(one.event, ModelRequested)}
    events = [one for one in events if not (isinstance(one.event, ModelConsulted) and one.event.helper in own)]
    follower = Requests()
    lines = [line for recorded in events for line in follower.apply(recorded)]
    return sorted([*lines, *follower.still_open()], key=lambda line: line.seq)


def one_of(what: str, word: str, choices: Sequence[str]) -> str:
    if word not in choices:
        raise UsageError(f'{what} "{word}": not one of {", ".join(choices)}.{did_you_mean(word, choices)}')
    return word


# ── the log as text

_HEADING = (
    ("TIME", 19),
    ("SESSION", 19),
    ("RUN", 20),
    ("USER", 5),
    ("STAGE", 14),
    ("MODEL", 10),
    ("TOOLS", 5),
    ("REASONING", 9),
    ("DIALS", 37),
    ("IN", 7),
    ("CACHED", 7),
    ("OUT", 6),
    ("COST", 8),
    ("SECONDS", 7),
    ("OUTCOME", 0),
)
_NUMBERS = {"TOOLS", "IN", "CACHED", "OUT", "COST", "SECONDS"}
# one by one, for want of room
_SPARED = ("REASONING", "USER", "TOOLS", "CACHED", "RUN", "SESSION", "DIALS", "SECONDS", "IN", "OUT")


def log_lines(lines: Sequence[RequestLine], *, heading: bool = True, room: int = 0) -> list[str]:
    """Lines of the log; without a heading they stand below those that were printed before.

    Where a line has no more `room` than so many cells, columns are left out.
    """
    shown = dict(_HEADING)
    for word in _SPARED:
        if room and sum(shown.values()) + len(GAP) * len(shown) + len("interrupted") > room:
            del shown[word]
    kept = [place for place, (word, _) in enumerate(_HEADING) if word in shown]
    return table(
        [[cells[place] for place in kept] for cells in map(_cells, lines)],
        heading=list(shown) if heading else (),
        right=[place for place, word in enumerate(shown) if word in _NUMBERS],
        least=list(shown.values()),
    )


def nothing_logged(lines: Sequence[RequestLine], stage: str) -> str:
    """Why the log shows nothing, of a journal with these requests."""
    stages = list(dict.fromkeys(line.stage for line in lines))
    if stage and stages and stage not in stages:
        return f"no request in stage {stage}; there are requests in {', '.join(stages)}"
    return f"none of {len(lines)} requests match" if lines else "no model request yet"


def _cells(line: RequestLine) -> list[str]:
    usage = line.usage
    return [
        when(line.at),
        line.conversation,
        line.run,
        line.user_mode,
        line.stage,
        line.model,
        str(line.tool_count),
        "yes" if line.reasoning else "no",
        line.badge,
        str(usage.input_tokens),
        str(usage.cached_tokens),
        str(usage.output_tokens),
        f"{line.cost:.4f}",
        seconds(line.seconds),
        line.code if line.outcome == "error" else f"{line.outcome} {line.code}".rstrip(),
    ]


def when(at: str) -> str:
    return at[:19].replace("T", " ")


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


# ── costs

_KEYS: dict[str, Callable[[RequestLine], str]] = {
    "day": lambda line: line.at[:10],
    "model": lambda line: line.model,
    "stage": lambda line: line.stage,
    "work-mode": lambda line: line.axes.work_mode,
    "mode": lambda line: line.axes.work_mode,  # as the flag of every other command calls it
    "session": lambda line: line.conversation,
    "run": lambda line: line.run,
}
GROUPINGS = tuple(_KEYS)
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def moment(text: str, now: datetime) -> str:
    """The instant that `--since` names, in the journal's spelling: a day or time of UTC, or so long ago (7d, 12h)."""
    amount, unit = text[:-1], text[-1:]
    try:
        if unit in _UNITS and amount.isdecimal():
            found = now - timedelta(**{_UNITS[unit]: int(amount)})
        else:
            found = datetime.fromisoformat(text)
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f'--since "{text}": neither a day nor a time; for example 2026-01-31, 2026-01-31T12:00, 7d, 12h or 30m'
        ) from None
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class UsageTally(Struct):
    """What some requests came to."""

    key: str
    requests: int = 0
    failed: int = 0  # of those, the ones without a whole reply: retried, interrupted, given up
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def add(self, line: RequestLine) -> None:
        self.requests += 1
        self.failed += line.outcome not in ("ok", "open")
        self.input_tokens += line.usage.input_tokens
        self.cached_tokens += line.usage.cached_tokens
        self.output_tokens += line.usage.output_tokens
        self.cost += line.cost


class Costs(Struct):
    by: str
    rows: list[UsageTally]
    total: UsageTally
    unpriced: dict[str, int]  # models that had no price, and how many requests count as nothing for it
    untold: dict[str, int] = field(default_factory=dict)  # AI CLIs that did not say what they cost, the same


def costs(lines: Iterable[RequestLine], by: str, is_free: Callable[[str], bool] = lambda model: False) -> Costs:
    """Tokens and money, grouped; groups in the order of their first request. What is free needs no price."""
    key = _KEYS[one_of("by", by, GROUPINGS)]
    rows: dict[str, UsageTally] = {}
    total = UsageTally("total")
    unpriced: dict[str, int] = {}
    untold: dict[str, int] = {}
    for line in lines:
        name = key(line)
        rows.setdefault(name, UsageTally(name)).add(line)
        total.add(line)
        if not line.cost and line.model != FREE and line.usage != Usage() and not is_free(line.model):
            free = untold if line.stage in ROLES else unpriced
            free[line.model] = free.get(line.model, 0) + 1
    return Costs(by, list(rows.values()), total, unpriced, untold)


def cost_lines(found: Costs) -> list[str]:
    if not found.rows:
        return ["no model request yet"]
    lines = tally_table(found.by, [*found.rows, found.total])
    for model, count in found.unpriced.items():
        lines.append(
            f"{model} had no price: {counted(count, 'request')} of it "
            f"{'counts' if count == 1 else 'count'} as 0. Set models.{model}.price_input and price_output "
            "for future requests."
        )
    for executor, count in found.untold.items():
        starts = f"{counted(count, 'start')} of it {'counts' if count == 1 else 'count'} as 0"
        lines.append(f"{executor} does not report its cost: {starts}.")
    return lines


def tally_table(by: str, rows: Sequence[UsageTally]) -> list[str]:
    heading = (by.upper(), "REQUESTS", "FAILED", "IN", "CACHED", "OUT", "COST")
    cells = [
        (
            row.key,
            str(row.requests),
            str(row.failed),
            str(row.input_tokens),
            str(row.cached_tokens),
            str(row.output_tokens),
            f"{row.cost:.4f}",
        )
        for row in rows
    ]
    return table(cells, heading=heading, right=range(1, len(heading)))
