"""Turns, requests and calls as OpenTelemetry spans."""

from quintet.features.feature import Feature

FEATURE = Feature(
    name="otel",
    about="sessions as OpenTelemetry spans",
    package=__name__,
    settings={"observability": "settings:ObservabilitySettings"},
    observer="observer:observer",
)
