"""The web: searched by an engine, and read as text."""

from quintet.features.feature import Feature, FeatureCheck

FEATURE = Feature(
    name="web_search",
    about="search the web and read pages",
    package=__name__,
    tools=("tools:web_search", "tools:web_get_contents"),
    parts={"web search": "parts:web_search"},
    checks=(FeatureCheck("parts:chosen_engine_is_set_up", kinds="parts:KINDS"),),
    service="web:open_web",
)
