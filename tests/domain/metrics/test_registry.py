"""Metrics: samples add up in any order, gauges follow, and the text is what Prometheus reads."""

import re

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.metrics import registry as metric
from quintet.domain.metrics.registry import METRICS, MetricKind, Metrics, exposition

LINE = re.compile(r'[a-z_]+(\{([a-z_]+="(\\[\\"n]|[^"\\\n])*",?)*\})? -?[0-9.e+-]+')


def test_names_are_unique_and_follow_the_conventions_of_prometheus() -> None:
    assert len({one.name for one in METRICS}) == len(METRICS)
    for one in METRICS:
        assert re.fullmatch(r"quintet_[a-z_]+", one.name) and one.about.endswith(".")
        assert one.name.endswith("_total") == (one.kind is MetricKind.COUNTER)
        assert bool(one.buckets) == (one.kind is MetricKind.HISTOGRAM)
        assert list(one.buckets) == sorted(one.buckets)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 2000), st.text(max_size=5)), max_size=20))
def test_what_is_measured_apart_and_added_up_is_what_is_measured_together(
    values: list[tuple[bool, float, str]],
) -> None:
    parts, whole, together = (Metrics(), Metrics()), Metrics(), Metrics()
    for first, value, model in values:
        for measured in (parts[first], together):
            measured.add(metric.COST, value, model=model)
            measured.observe(metric.TURN_SECONDS, value)
            measured.add(metric.ASKS)
    for part in parts:
        whole.merge(part)
    shown = [(one.metric, one.labels, round(one.value, 3), one.count, one.buckets) for one in whole.samples()]
    assert shown == [
        (one.metric, one.labels, round(one.value, 3), one.count, one.buckets) for one in together.samples()
    ]


@given(st.text(max_size=20), st.text(max_size=20))
def test_whatever_a_label_holds_every_line_of_the_text_is_one_sample(project: str, model: str) -> None:
    measured = Metrics()
    measured.add(metric.COST, 0.25, model=model)
    measured.observe(metric.REQUEST_SECONDS, 2.0, model=model)
    lines = exposition({project: measured}).split("\n")[:-1]
    assert all(line.startswith("# ") or LINE.fullmatch(line) for line in lines), lines


def test_the_text_of_a_histogram_counts_up_and_gauges_are_worked_out() -> None:
    measured = Metrics()
    for seconds in (0.05, 2.0, 5000.0):
        measured.observe(metric.TURN_SECONDS, seconds)
    measured.add(metric.ASKS, 3)
    measured.add(metric.TOKENS, 200, model="m", kind="input")
    measured.add(metric.TOKENS, 150, model="m", kind="cached")
    text = exposition({"shop": measured})
    assert "# TYPE quintet_turn_seconds histogram" in text
    assert 'quintet_turn_seconds_bucket{project="shop",le="0.1"} 1\n' in text
    assert 'quintet_turn_seconds_bucket{project="shop",le="+Inf"} 3\n' in text
    assert 'quintet_turn_seconds_count{project="shop"} 3\n' in text
    assert 'quintet_cache_hit_ratio{project="shop"} 0.75\n' in text
    assert f'quintet_asks_per_hour{{project="shop"}} {round(3 * 3600 / 5002.05, 4)}\n' in text
