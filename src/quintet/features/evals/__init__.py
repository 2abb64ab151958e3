"""Evals: tasks in small repositories, done by models or AI CLIs and judged by graders that they cannot reach."""

from quintet.features.feature import CliCommand, Feature

FEATURE = Feature(
    name="evals",
    about="tasks with hidden graders, to compare models and AI CLIs",
    package=__name__,
    settings={"evals": "settings:EvalSettings"},
    commands=(
        CliCommand(
            "eval",
            "cli:EVAL",
            "quintet eval list | run SUITE | show RUN | compare A B | new COMMIT   how models do on tasks with graders",
        ),
    ),
    offers={"trials": "trials.runner:make_trials"},
)
