"""Memory: what proved true of a project, and what its user decided, kept from one session to the next."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="memory",
    about="what proved true of the project, and what you decided",
    package=__name__,
    settings={"memory": "settings:MemorySettings"},
    tools=("tools:recall",),
    slash=(
        FeatureCommand(
            "memory",
            "/memory [list | show|forget ID | add TEXT | edit ID TEXT | on|off]",
            "what is remembered of this project",
            "slash:memory",
            own_flags=True,
        ),
    ),
    commands=(
        CliCommand(
            "memory",
            "cli:MEMORY",
            "quintet memory list | show ID | add TEXT | edit ID TEXT | forget ID | export | import FILE   what is "
            "remembered of a project",
        ),
    ),
    checks=(
        FeatureCheck("doctor:store_is_whole", "doctor:mend_index", "doctor:KINDS"),
        FeatureCheck("doctor:memories_hold", "doctor:mark_stale"),
    ),
    service="memory:open_memory",
    offers={"recall": "memory:opened", "lessons": "memory:opened"},
)
