"""Every metric there is, the samples of each, and their text for Prometheus.

A counter only grows, a histogram counts values by their size, a gauge is worked out of the others. `Metrics` of several
sessions are added up; the gauges are worked out afterwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import accumulate

from msgspec import Struct, field

SECONDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
COUNTS = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
BYTES = (100.0, 1e3, 1e4, 1e5, 1e6)
MONEY = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
HOUR = 3600.0


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(Struct, frozen=True):
    name: str
    kind: MetricKind
    about: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()  # of a histogram


def _counter(name: str, about: str, *labels: str) -> Metric:
    return Metric(f"quintet_{name}_total", MetricKind.COUNTER, about, labels)


def _histogram(name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Metric:
    return Metric(f"quintet_{name}", MetricKind.HISTOGRAM, about, labels, buckets)


def _gauge(name: str, about: str) -> Metric:
    return Metric(f"quintet_{name}", MetricKind.GAUGE, about)


TURNS = _counter("turns", "Turns that ended.", "status", "work_mode")
TURN_SECONDS = _histogram("turn_seconds", "How long turns took.", SECONDS)
TURN_REQUESTS = _histogram("turn_requests", "Model requests of each turn.", COUNTS)
TURN_NEW_BYTES = _histogram(
    "turn_new_bytes", "Bytes that each turn added to its conversation: input, replies, results of calls.", BYTES
)
REQUESTS = _counter("requests", "Requests to models and starts of AI CLIs that ended.", "model", "stage", "outcome")
REQUEST_SECONDS = _histogram("request_seconds", "How long requests took.", SECONDS, "model")
RETRIES = _counter("retries", "Requests that failed and were made again.", "model", "code")
TOKENS = _counter("tokens", "Tokens: all of the input, what a cache held of it, the output.", "model", "kind")
COST = _counter("cost", "What requests cost, at the prices of the time.", "model")
CALLS = _counter("calls", "Calls of tools that ended.", "tool", "status")
CALL_SECONDS = _histogram("call_seconds", "How long calls ran.", SECONDS)
VERDICTS = _counter("verdicts", "Decisions of the gate on calls.", "verdict")
ASKS = _counter("asks", "Questions for approval.")
ASK_WAIT_SECONDS = _histogram("ask_wait_seconds", "How long questions for approval waited for an answer.", SECONDS)
TASK_VERDICTS = _counter("task_verdicts", "Verdicts on tasks.", "verdict")
TASK_COST = _histogram("task_cost", "What the requests for each verdict on a task cost.", MONEY)
RATINGS = _counter("ratings", "Your ratings of turns.", "rating")
ASKS_PER_HOUR = _gauge("asks_per_hour", "Questions for approval in each hour that turns took.")
CACHE_HIT_RATIO = _gauge("cache_hit_ratio", "The share of the input tokens that came from the caches of providers.")
METRICS: tuple[Metric, ...] = (
    *(TURNS, TURN_SECONDS, TURN_REQUESTS, TURN_NEW_BYTES),
    *(REQUESTS, REQUEST_SECONDS, RETRIES, TOKENS, CACHE_HIT_RATIO, COST),
    *(CALLS, CALL_SECONDS, VERDICTS, ASKS, ASKS_PER_HOUR, ASK_WAIT_SECONDS),
    *(TASK_VERDICTS, TASK_COST, RATINGS),
)


class MetricSample(Struct):
    """A metric with its labels: a value, or of a histogram how many values there were, by size, and their sum."""

    metric: str
    kind: MetricKind
    labels: dict[str, str]
    value: float = 0.0  # of a histogram the sum
    count: int = 0
    buckets: list[int] = field(default_factory=list)  # how many were at most as large, and the last: larger than all


class Metrics:
    """Samples by metric and labels."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, tuple[str, ...]], MetricSample] = {}

    def add(self, metric: Metric, amount: float = 1.0, **labels: str) -> None:
        self._of(metric, labels).value += amount

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        sample = self._of(metric, labels)
        sample.value += value
        sample.count += 1
        sample.buckets[bisect_left(metric.buckets, value)] += 1

    def merge(self, other: Metrics) -> None:
        for sample in other._samples.values():
            mine = self._of(_BY_NAME[sample.metric], sample.labels)
            mine.value += sample.value
            mine.count += sample.count
            mine.buckets = [one + more for one, more in zip(mine.buckets, sample.buckets, strict=True)]

    def samples(self) -> list[MetricSample]:
        """All of them in the order of the metrics, with the gauges as they are now."""
        found = [*self._samples.values(), *self._gauges()]
        places = {metric.name: place for place, metric in enumerate(METRICS)}
        return sorted(found, key=lambda one: (places[one.metric], tuple(one.labels.values())))

    def total(self, metric: Metric, **labels: str) -> float:
        """The values of a metric added up, of those samples that have these labels."""
        return sum(
            one.value
            for one in self._samples.values()
            if one.metric == metric.name and labels.items() <= one.labels.items()
        )

    def _gauges(self) -> Iterator[MetricSample]:
        if seconds := self.total(TURN_SECONDS):
            yield _value(ASKS_PER_HOUR, self.total(ASKS) * HOUR / seconds)
        if given := self.total(TOKENS, kind="input"):
            yield _value(CACHE_HIT_RATIO, self.total(TOKENS, kind="cached") / given)

    def _of(self, metric: Metric, labels: Mapping[str, str]) -> MetricSample:
        assert set(labels) == set(metric.labels), (metric.name, labels)
        key = metric.name, tuple(labels[name] for name in metric.labels)
        if key not in self._samples:
            buckets = [0] * (len(metric.buckets) + 1) if metric.kind is MetricKind.HISTOGRAM else []
            named = {name: labels[name] for name in metric.labels}
            self._samples[key] = MetricSample(metric.name, metric.kind, named, buckets=buckets)
        return self._samples[key]


_BY_NAME = {metric.name: metric for metric in METRICS}


def _value(metric: Metric, value: float) -> MetricSample:
    return MetricSample(metric.name, metric.kind, {}, round(value, 4))


def exposition(projects: Mapping[str, Metrics]) -> str:
    """The samples of projects by their names, as Prometheus reads them (text format 0.0.4)."""
    listed = [(project, sample) for project, metrics in projects.items() for sample in metrics.samples()]
    lines: list[str] = []
    for metric in METRICS:
        mine = [(project, sample) for project, sample in listed if sample.metric == metric.name]
        if mine:
            lines += [f"# HELP {metric.name} {_escaped(metric.about)}", f"# TYPE {metric.name} {metric.kind}"]
        for project, sample in mine:
            lines += _lines(metric, sample, {"project": project, **sample.labels} if project else sample.labels)
    return "\n".join(lines) + "\n"


def _lines(metric: Metric, sample: MetricSample, labels: Mapping[str, str]) -> Iterator[str]:
    if metric.kind is not MetricKind.HISTOGRAM:
        yield f"{metric.name}{_braced(labels)} {_number(sample.value)}"
        return
    edges = [*map(_number, metric.buckets), "+Inf"]
    for edge, count in zip(edges, accumulate(sample.buckets), strict=True):
        yield f"{metric.name}_bucket{_braced({**labels, 'le': edge})} {count}"
    yield f"{metric.name}_sum{_braced(labels)} {_number(sample.value)}"
    yield f"{metric.name}_count{_braced(labels)} {sample.count}"


def _braced(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_quoted(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: float) -> str:
    rounded = round(value, 6)
    return str(int(rounded)) if rounded == int(rounded) else repr(rounded)
