"""Metrics are a view over the journal: they say what the other reports say, whoever reads it and in how many pieces."""

from collections import Counter
from collections.abc import Sequence

import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.metrics import registry as metric
from quintet.domain.metrics.registry import Metrics
from quintet.engine.reports import accounts
from quintet.engine.reports.metrics import KINDS, ProjectMeter, metric_lines, of_session
from quintet.engine.reports.session_report import read, report_lines
from tests.made_sessions import Made

EVENTS = list(Made().events(60))


def kind_of(recorded: p.Recorded) -> str:
    return str(recorded.event.__struct_config__.tag)


def shown(metrics: Metrics) -> list[tuple[str, dict[str, str], float, int]]:
    return [(one.metric, one.labels, round(one.value, 6), one.count) for one in metrics.samples()]


def test_requests_tokens_and_cost_are_those_of_the_accounts() -> None:
    measured, lines = of_session(EVENTS), accounts.requests(EVENTS)
    ended = [line for line in lines if line.outcome != "open"]
    assert measured.total(metric.REQUESTS) == len(ended) > 50
    assert measured.total(metric.COST) == pytest.approx(sum(line.cost for line in ended))
    assert measured.total(metric.TOKENS, kind="input") == sum(line.usage.input_tokens for line in ended)
    assert measured.total(metric.TOKENS, kind="cached") == sum(line.usage.cached_tokens for line in ended)
    retried = Counter(line.code for line in ended if line.outcome == "retry")
    assert {one.labels["code"]: one.value for one in measured.samples() if one.metric == metric.RETRIES.name} == retried


def test_turns_calls_and_verdicts_are_those_of_the_journal() -> None:
    measured = of_session(EVENTS)
    of = Counter(type(recorded.event) for recorded in EVENTS)
    assert measured.total(metric.TURNS) == of[p.TurnFinished] > 0
    assert measured.total(metric.CALLS) == of[p.ToolFinished] > 0
    verdicts = Counter(str(one.event.verdict) for one in EVENTS if isinstance(one.event, p.CallDecided))
    assert {
        one.labels["verdict"]: one.value for one in measured.samples() if one.metric == metric.VERDICTS.name
    } == verdicts
    report = read(EVENTS).report()
    assert measured.total(metric.TURN_SECONDS) == pytest.approx(report.seconds)
    (requests,) = [one for one in measured.samples() if one.metric == metric.TURN_REQUESTS.name]
    assert requests.count == of[p.TurnFinished] and requests.value == measured.total(metric.REQUESTS)


class Rows:
    """A store that more is written to between two looks."""

    def __init__(self) -> None:
        self.written: list[tuple[str, p.Recorded]] = []

    def read_of_sessions(self, kinds: Sequence[str], after: int = 0) -> list[tuple[str, p.Recorded]]:
        return [(of, one) for of, one in self.written if one.seq > after and kind_of(one) in kinds]


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_a_project_is_the_sum_of_its_sessions_however_often_it_is_read(piece: int) -> None:
    second = list(Made("q5-more", seq=len(EVENTS)).events(20))
    both = [("q5-made", one) for one in EVENTS] + [("q5-more", one) for one in second]
    whole = Metrics()
    for part in (of_session(EVENTS), of_session(second)):
        whole.merge(part)
    rows, meter = Rows(), ProjectMeter()
    for begin in range(0, len(both), piece):
        rows.written = both[: begin + piece]
        read_now = meter.read(rows)
    assert shown(read_now) == shown(whole)
    assert shown(meter.read(rows)) == shown(whole), "nothing is counted twice"


def test_a_kind_of_event_that_is_left_out_would_change_nothing() -> None:
    kept = [one for one in EVENTS if kind_of(one) in KINDS]
    assert shown(of_session(kept)) == shown(of_session(EVENTS)) and len(kept) < len(EVENTS)


def test_the_session_report_has_what_stands_in_no_other_section() -> None:
    reporter = read(EVENTS)
    lines = report_lines(reporter.report(), reporter.measured())
    section = lines[lines.index("metrics") : lines.index("files changed")]
    assert any("quintet_asks_per_hour" in line for line in section)
    assert any("quintet_turn_new_bytes" in line and "mean" in line for line in section)
    assert metric_lines(reporter.measured())[0].split() == ["METRIC", "LABELS", "VALUE"]
