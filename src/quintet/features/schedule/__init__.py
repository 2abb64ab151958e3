"""The schedule: work that begins at a time, by the clock of a zone, whether or not a session is open."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="schedule",
    about="work at a set time",
    package=__name__,
    settings={"schedule": "settings:ScheduleSettings"},
    slash=(
        FeatureCommand(
            "schedule",
            "/schedule [list | add WHEN -- TEXT | next [N] | pause|resume|run|remove NAME | history [NAME]]",
            "work at a set time: weekdays 07:30, every 30m, in 2h, a cron line",
            "slash:schedule",
            own_flags=True,
        ),
    ),
    commands=(
        CliCommand(
            "schedule",
            "cli:SCHEDULE",
            'quintet schedule add "weekdays 07:30" -- "…" | list | next | history | work | install   work at a time',
        ),
    ),
    checks=(FeatureCheck("checks:schedules_can_run", kinds="checks:KINDS"),),
    board="board:rows",
    offers={"schedules": "dispatch:serve"},
)
