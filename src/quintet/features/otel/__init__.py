"""Turns, requests and calls as OpenTelemetry spans."""

from quintet.features.feature import Feature, FeatureCheck

FEATURE = Feature(
    name="otel",
    about="sessions as OpenTelemetry spans",
    package=__name__,
    settings={"observability": "settings:ObservabilitySettings"},
    checks=(FeatureCheck("observer:extra_is_installed", kinds="observer:KINDS"),),
    observer="observer:observer",
)
