"""The web surface: the same sessions in a browser. A server on this machine; nothing is loaded from elsewhere."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck

FEATURE = Feature(
    name="web_ui",
    about="sessions in the browser",
    package=__name__,
    commands=(
        CliCommand("web", "cli:web", "quintet web [--port N] [--json]   sessions, tasks and settings in your browser"),
    ),
    checks=(FeatureCheck("checks:tokens_are_safe", "checks:make_safe", "checks:KINDS"),),
)
