"""The web surface: the same sessions in a browser. A server on this machine; nothing is loaded from elsewhere."""

from quintet.features.feature import Feature

FEATURE = Feature(
    name="web_ui",
    about="sessions in the browser",
    package=__name__,
    commands={"web": "cli:web"},
    usage=("quintet web [--port N] [--json]   sessions, tasks and settings in your browser",),
)
