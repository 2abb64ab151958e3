"""AI CLIs as executors: codex, claude, gemini, and any agent that speaks ACP.

Each has a dialect: how it is started, what it needs of the machine, and what the lines of its stream mean. One runner
starts them all behind the sandbox, bounds what they print, owns their deadlines, and ends the whole process tree.
"""

from quintet.features.feature import CliCommand, Feature, FeatureCheck

FEATURE = Feature(
    name="ai_clis",
    about="other AI CLIs that plan, do and verify tasks",
    package=__name__,
    named={"executors": "settings:ExecutorSettings"},
    commands=(
        CliCommand(
            "executors",
            "cli:EXECUTORS",
            "quintet executors           AI CLIs that can do the work, and what is missing",
        ),
    ),
    checks=(FeatureCheck("installed:configured_are_here", kinds="installed:FINDING_KINDS"),),
    offers={f"cycle.{role}": "installed:names_here" for role in ("planner", "executor", "verifier")},
    executors="wiring:open_executors",
)
