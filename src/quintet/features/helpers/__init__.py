"""Helpers: runs inside a call, each with a conversation, a budget and a role of its own, and a report as its result."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="helpers",
    about="runs inside a call, with a report as their result",
    package=__name__,
    settings={"helpers": "settings:HelperSettings"},
    tools=("tools:run_helpers",),
    slash=(
        FeatureCommand("helpers", "/helpers", "the helpers of this session: state, calls, cost", "commands:in_session"),
    ),
    commands=(
        CliCommand(
            "helpers",
            "commands:HELPERS",
            "quintet helpers [SESSION] [--json]   the helpers of a session, and their reports",
        ),
    ),
    checks=(FeatureCheck("checks:helpers_left_nothing", "checks:keep_work", "checks:KINDS"),),
    service="service:open_helpers",
    board="service:board_rows",
)
