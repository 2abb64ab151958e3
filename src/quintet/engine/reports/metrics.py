"""Metrics of sessions, out of their journals: nothing is counted anywhere else, so they are the same after a restart.

A view over a session's activities. A project's are the sum of its sessions'; it follows them bit by bit, so that
whoever asks every few seconds reads only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from quintet.domain.base.text_table import table
from quintet.domain.journal import protocol as p
from quintet.domain.metrics import registry as metric
from quintet.domain.metrics.registry import MetricKind, Metrics, MetricSample
from quintet.engine.reports.accounts import request_lines
from quintet.engine.reports.activities import Activities, ActivityKind, TimedActivity

# The types of events read here.
KINDS = (
    *("turn_started", "turn_finished", "turn_rated", "model_requested", "model_replied", "model_failed"),
    *("model_consulted", "history_compacted", "executor_ended", "call_decided", "tool_started", "tool_finished"),
    *("question_asked", "question_answered", "task_verified"),
)


class Journals(Protocol):
    """What a project's metrics are read from."""

    def read_of_sessions(self, kinds: Sequence[str], after: int = 0) -> list[tuple[str, p.Recorded]]: ...


class Meter:
    """Takes a session's events in order, each with the activities that it ended."""

    def __init__(self, *, with_helpers: bool = True) -> None:
        self.metrics = Metrics()
        self._with_helpers = with_helpers  # whether what helpers used counts here, and not in sessions of their own
        self._requests = 0  # of this turn
        self._bytes = 0
        self._work_mode = ""
        self._task_cost = 0.0  # since the last verdict

    def apply(self, recorded: p.Recorded, ended: Iterable[TimedActivity]) -> None:
        measured = self.metrics
        match recorded.event:
            case p.TurnStarted() as e:
                self._requests, self._bytes = 0, _size(e.text)
                self._work_mode = str(e.axes.work_mode)
            case p.TurnFinished() as e:
                measured.add(metric.TURNS, status=str(e.status), work_mode=self._work_mode)
            case p.TurnRated() as e:
                measured.add(metric.RATINGS, rating=str(e.rating))
            case p.ModelReplied() as e if not e.aside:
                self._bytes += _size(e.text) + sum(_size(call.arguments) for call in e.calls)
            case p.ToolFinished() as e:
                self._bytes += _size(e.content)
            case p.CallDecided() as e:
                measured.add(metric.VERDICTS, verdict=str(e.verdict))
            case p.QuestionAsked(kind="approve"):
                measured.add(metric.ASKS)
            case p.TaskVerified() as e:
                verdict = "verified" if e.passed else "not verified" if e.unverified else "failed"
                measured.add(metric.TASK_VERDICTS, verdict=verdict)
                measured.observe(metric.TASK_COST, self._task_cost)
                self._task_cost = 0.0
        for activity in ended:
            self._ended(activity)

    def _ended(self, activity: TimedActivity) -> None:
        match activity.kind:
            case ActivityKind.REQUEST:
                self._request(activity)
            case ActivityKind.TURN:
                if activity.seconds is not None:
                    self.metrics.observe(metric.TURN_SECONDS, activity.seconds)
                self.metrics.observe(metric.TURN_REQUESTS, self._requests)
                self.metrics.observe(metric.TURN_NEW_BYTES, self._bytes)
            case ActivityKind.CALL if activity.ended and isinstance(e := activity.ended.event, p.ToolFinished):
                self.metrics.add(metric.CALLS, tool=e.tool, status=str(e.status))
                if activity.started:
                    self.metrics.observe(metric.CALL_SECONDS, e.seconds)
            case ActivityKind.QUESTION if isinstance(e := activity.begun.event, p.QuestionAsked):
                if e.kind == "approve" and activity.seconds is not None:
                    self.metrics.observe(metric.ASK_WAIT_SECONDS, activity.seconds)

    def _request(self, activity: TimedActivity) -> None:
        event = activity.begun.event
        if isinstance(event, p.ModelConsulted) and event.helper and not self._with_helpers:
            return
        (line,) = request_lines([activity])
        self._requests += 1
        self._task_cost += line.cost
        self.metrics.add(metric.REQUESTS, model=line.model, stage=line.stage, outcome=line.outcome)
        if line.outcome == "retry":
            self.metrics.add(metric.RETRIES, model=line.model, code=line.code)
        if line.seconds is not None:
            self.metrics.observe(metric.REQUEST_SECONDS, line.seconds, model=line.model)
        used = line.usage
        counts = {"input": used.input_tokens, "cached": used.cached_tokens, "output": used.output_tokens}
        for kind, count in counts.items():
            if count:
                self.metrics.add(metric.TOKENS, count, model=line.model, kind=kind)
        if line.cost:
            self.metrics.add(metric.COST, line.cost, model=line.model)


class ProjectMeter:
    """The metrics of all sessions of a project."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[Activities, Meter]] = {}
        self._after = 0

    def read(self, rows: Journals) -> Metrics:
        """Read what is new, and add up."""
        for session, recorded in rows.read_of_sessions(KINDS, self._after):
            if session not in self._sessions:
                self._sessions[session] = Activities(), Meter(with_helpers=False)
            activities, meter = self._sessions[session]
            meter.apply(recorded, activities.apply(recorded))
            self._after = max(self._after, recorded.seq)
        whole = Metrics()
        for _, meter in self._sessions.values():
            whole.merge(meter.metrics)
        return whole


def of_session(events: Iterable[p.Recorded]) -> Metrics:
    activities, meter = Activities(), Meter()
    for recorded in events:
        meter.apply(recorded, activities.apply(recorded))
    return meter.metrics


def metric_lines(samples: list[MetricSample]) -> list[str]:
    """A row for each sample; of a histogram how many values there were, and their mean."""
    rows = [(one.metric, ", ".join(f"{k}={v}" for k, v in one.labels.items()), _shown(one)) for one in samples]
    return table(rows, heading=("METRIC", "LABELS", "VALUE"))


def _shown(sample: MetricSample) -> str:
    if sample.kind is MetricKind.HISTOGRAM:
        return f"{sample.count} ×, mean {sample.value / sample.count:.4g}"
    return f"{sample.value:.6g}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
