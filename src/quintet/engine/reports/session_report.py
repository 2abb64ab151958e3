"""One session from its beginning to now: axes over time, turns, requests, tools, approvals, files, cost, ratings.

A view over the session's activities, in one pass. A fork's report begins with the events it shares with its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field

from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.dials import badge
from quintet.domain.journal import protocol as p
from quintet.domain.metrics import registry as metric
from quintet.domain.metrics.registry import MetricSample
from quintet.domain.permission.answers import LASTING, NO, TURNING, YES
from quintet.domain.tasks.turn_titles import TurnTitles
from quintet.domain.turn.messages import Usage
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.reports import accounts
from quintet.engine.reports.activities import Activities, ActivityKind, TimedActivity
from quintet.engine.reports.metrics import Meter, metric_lines

TEXT_LENGTH = 60  # of a turn's input, as a report shows it


class AxesRow(Struct):
    """Where the axes stood from then on, and why."""

    seq: int
    at: str
    badge: str
    actor: str
    scope: str
    reason: str


class TurnRow(Struct):
    turn: str
    run: str
    at: str
    text: str
    badge: str
    status: str = "open"  # then done, failed, blocked, limit, interrupted or cancelled
    reason: str = ""
    steps: int = 0
    seconds: float | None = None
    usage: Usage = Usage()
    cost: float = 0.0
    rating: int | None = None
    note: str = ""


class ToolRow(Struct):
    tool: str
    calls: int = 0
    failed: int = 0
    denied: int = 0
    interrupted: int = 0
    seconds: float = 0.0


class Approvals(Struct):
    asked: int = 0
    approved: int = 0
    always: int = 0  # of those approved, the ones that became a rule
    refused: int = 0
    closed: int = 0  # without an answer
    waiting: int = 0


class Report(Struct):
    session: str = ""
    parent: str = ""
    project: str = ""
    began: str = ""
    until: str = ""
    events: int = 0
    axes: list[AxesRow] = field(default_factory=list)
    turns: list[TurnRow] = field(default_factory=list)
    stages: list[accounts.UsageTally] = field(default_factory=list)
    tools: list[ToolRow] = field(default_factory=list)
    approvals: Approvals = field(default_factory=Approvals)
    changed: dict[str, int] = field(default_factory=dict)  # file → calls that changed it
    total: accounts.UsageTally = field(default_factory=lambda: accounts.UsageTally("total"))
    unpriced: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0  # that turns took
    rating: float | None = None  # the mean over the rated turns


class Reporter:
    """Takes a session's events in order; `report` is what they come to so far."""

    def __init__(self, is_free: Callable[[str], bool] = lambda model: False) -> None:
        self._is_free = is_free  # a model that needs no price
        self.activities = Activities()
        self._report = Report()
        self._lines: list[accounts.RequestLine] = []
        self._turns: dict[str, TurnRow] = {}
        self._tools: dict[str, ToolRow] = {}
        self._ended: tuple[str, TurnRow] | None = None  # the turn that ended last, and when
        self._meter = Meter()
        self._titles = TurnTitles()

    def apply(self, recorded: p.Recorded) -> list[TimedActivity]:
        """Returns what the event ended."""
        self._report.events += 1
        self._report.until = recorded.at
        title = self._titles.of(recorded.event)
        match recorded.event:
            case p.SessionOpened() as e:
                self._opened(recorded, e)
            case p.SessionTaken() if self._ended and self._ended[0] == recorded.at:
                self._ended[1].seconds = None  # this owner ended it; when it really stopped is not on record
            case p.DialsTurned() as e:
                row = AxesRow(recorded.seq, recorded.at, badge.full(e.after), e.actor, e.scope, e.reason)
                self._report.axes.append(row)
            case p.TurnStarted() as e:
                self._turns[e.turn] = TurnRow(e.turn, e.run, recorded.at, title, badge.full(e.axes))
            case p.TurnRated() as e if turn := self._turns.get(e.turn):
                turn.rating, turn.note = e.rating, e.note
            case p.QuestionAsked(kind="approve"):
                self._report.approvals.asked += 1
        ended = self.activities.apply(recorded)
        self._meter.apply(recorded, ended)
        self._lines += accounts.request_lines(ended)
        for activity in ended:
            self._count(activity)
        return ended

    def report(self) -> Report:
        open_requests = accounts.request_lines(self.activities.still_open(ActivityKind.REQUEST))
        found = accounts.costs([*self._lines, *open_requests], "stage", self._is_free)
        report = self._report
        report.stages, report.total, report.unpriced = found.rows, found.total, found.unpriced
        report.turns = list(self._turns.values())
        report.tools = sorted(self._tools.values(), key=lambda row: (-row.calls, row.tool))
        report.approvals.waiting = sum(map(_approval, self.activities.still_open(ActivityKind.QUESTION)))
        report.seconds = round(sum(turn.seconds or 0.0 for turn in report.turns), 3)
        ratings = [turn.rating for turn in report.turns if turn.rating]
        report.rating = round(sum(ratings) / len(ratings), 2) if ratings else None
        return report

    def measured(self) -> list[MetricSample]:
        return self._meter.metrics.samples()

    def _opened(self, recorded: p.Recorded, event: p.SessionOpened) -> None:
        report = self._report
        report.session, report.parent, report.project = event.session, event.parent, event.project
        report.began = report.began or recorded.at
        reason = f"forked from {event.parent}" if event.parent else "opened"
        report.axes.append(AxesRow(recorded.seq, recorded.at, badge.full(event.axes), "user", "now", reason))

    def _count(self, activity: TimedActivity) -> None:
        match activity.ended and activity.ended.event:
            case p.TurnFinished() as e:
                turn = self._turns[e.turn]
                turn.status, turn.reason, turn.steps = e.status, e.reason, e.steps
                turn.usage, turn.cost, turn.seconds = e.usage, e.cost, activity.seconds
                assert activity.ended
                self._ended = (activity.ended.at, turn)
            case p.ToolFinished() as e:
                row = self._tools.setdefault(e.tool, ToolRow(e.tool))
                row.calls += 1
                row.failed += e.status is CallStatus.ERROR
                row.denied += e.status is CallStatus.DENIED
                row.interrupted += e.status is CallStatus.INTERRUPTED
                row.seconds = round(row.seconds + e.seconds, 3)
                for path in e.changed:
                    self._report.changed[path] = self._report.changed.get(path, 0) + 1
            case p.QuestionAnswered(choice=choice) if _approval(activity):
                counts = self._report.approvals
                counts.approved += choice == YES or choice in LASTING | TURNING
                counts.always += choice in LASTING
                counts.refused += choice == NO
                counts.closed += choice == ""


def _approval(question: TimedActivity) -> bool:
    event = question.begun.event
    return isinstance(event, p.QuestionAsked) and event.kind == "approve"


def read(events: Iterable[p.Recorded], is_free: Callable[[str], bool] = lambda model: False) -> Reporter:
    reporter = Reporter(is_free)
    for recorded in events:
        reporter.apply(recorded)
    return reporter


def report_lines(report: Report, metrics: Sequence[MetricSample] = (), *, over_time: bool = True) -> list[str]:
    """The report as text; without what the axes and turns were one after the other, if that is told elsewhere."""
    total = report.total
    rated = sum(turn.rating is not None for turn in report.turns)
    head = [
        ("session", report.session + (f", forked from {report.parent}" if report.parent else "")),
        ("from", f"{accounts.when(report.began)} to {accounts.when(report.until)}, {report.events} events"),
        ("time", f"{report.seconds:.1f} s in {counted(len(report.turns), 'turn')}"),
        ("tokens", f"{total.input_tokens} in ({total.cached_tokens} cached), {total.output_tokens} out"),
        ("cost", f"{total.cost:.4f}"),
        ("rating", "none" if report.rating is None else f"{report.rating:g} of 5, {rated} rated"),
    ]
    stages = accounts.cost_lines(accounts.Costs("stage", report.stages, total, report.unpriced))
    return [
        *(f"{name:<9}{value}" for name, value in head),
        *(_section("axes", table([_axes_cells(row) for row in report.axes])) if over_time else ()),
        *(_section("turns", _turn_table(report.turns)) if over_time else ()),
        *_section("model requests", stages),
        *_section("tools", _tool_table(report.tools)),
        *_section("approvals", [_approval_words(report.approvals)]),
        *(_section("metrics", _measured(metrics)) if metrics else ()),
        *_section("files changed", table([(path, f"{count}×") for path, count in report.changed.items()])),
    ]


def _measured(samples: Sequence[MetricSample]) -> list[str]:
    """What stands in no other section."""
    shown = [metric.TURN_REQUESTS, metric.TURN_NEW_BYTES, metric.CACHE_HIT_RATIO, metric.RETRIES, metric.VERDICTS]
    shown += [metric.ASKS_PER_HOUR, metric.ASK_WAIT_SECONDS, metric.TASK_VERDICTS, metric.TASK_COST]
    names = {one.name for one in shown}
    return metric_lines([sample for sample in samples if sample.metric in names])[1:]


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines or ["none"])]


def _axes_cells(row: AxesRow) -> tuple[str, ...]:
    return (accounts.when(row.at), row.badge, f"{row.reason}, by {row.actor}, {row.scope}")


def _turn_table(turns: list[TurnRow]) -> list[str]:
    heading = ("TIME", "STATUS", "STEPS", "SECONDS", "COST", "RATING", "INPUT")
    rows = [
        (
            accounts.when(turn.at),
            turn.status,
            str(turn.steps),
            accounts.seconds(turn.seconds),
            f"{turn.cost:.4f}",
            f"{turn.rating} {_short(turn.note)}".rstrip() if turn.rating else "-",
            _short(turn.text) or "(continued)",
        )
        for turn in turns
    ]
    return table(rows, heading=heading, right=(2, 3, 4))


def _tool_table(tools: list[ToolRow]) -> list[str]:
    heading = ("TOOL", "CALLS", "FAILED", "DENIED", "INTERRUPTED", "SECONDS")
    rows = [
        (row.tool, str(row.calls), str(row.failed), str(row.denied), str(row.interrupted), f"{row.seconds:.1f}")
        for row in tools
    ]
    return table(rows, heading=heading, right=range(1, len(heading)))


def _approval_words(counts: Approvals) -> str:
    if not counts.asked:
        return "none asked"
    words = [f"{counts.approved} approved" + (f" ({counts.always} always)" if counts.always else "")]
    words += [f"{counts.refused} refused", f"{counts.closed} closed without an answer", f"{counts.waiting} waiting"]
    return f"{counts.asked} asked: {', '.join(words)}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= TEXT_LENGTH else words[: TEXT_LENGTH - 1] + "…"
