"""Workers: several tasks of a plan at once, each in a worktree of its own, integrated one after the other."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="workers",
    about="several tasks at once",
    package=__name__,
    settings={"workers": "settings:WorkerSettings", "tasks": "settings:TaskSettings"},
    slash=(
        FeatureCommand(
            "parallel",
            "/parallel [start N|status|stop]",
            "do the open tasks with several workers, each in its own worktree",
            "slash:parallel",
        ),
    ),
    commands=(
        CliCommand(
            "parallel",
            "cli:parallel",
            "quintet parallel [N] [--json]   do the open tasks with N workers, until none can start",
        ),
        CliCommand(
            "worker", "cli:worker", "quintet worker [--repository URL [--push]] [--schedule] [--json]   run one worker"
        ),
    ),
    checks=(FeatureCheck("checks:workers_left_nothing", "checks:tidy", "checks:KINDS"),),
    service="service:open_workers",
    board="service:board_rows",
)
