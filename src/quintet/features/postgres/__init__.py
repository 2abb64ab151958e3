"""PostgreSQL: the sessions and tasks of several machines in one database."""

from quintet.features.feature import CliCommand, Feature

FEATURE = Feature(
    name="postgres",
    about="one database for several machines",
    package=__name__,
    commands=(
        CliCommand(
            "database",
            "cli:DATABASE",
            "quintet database init | status | migrate | move --to URL   one PostgreSQL for several machines",
        ),
    ),
    offers={"store:postgresql": "kind:KIND", "store:postgres": "kind:KIND"},
)
