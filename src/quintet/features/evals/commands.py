"""What `quintet eval run` and `quintet eval compare` do."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from argparse import ArgumentParser, Namespace

from msgspec import structs

from quintet.adapters.files.paths import evals_folder, locate
from quintet.adapters.files.private_files import private_folder
from quintet.adapters.processes.system import RandomIds
from quintet.adapters.settings import layers
from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import ModelMode
from quintet.domain.evals.rates import pass_rate
from quintet.domain.evals.results import EvalRun, SkippedTask, TriedTask, in_order
from quintet.domain.ports.trials import TrialResult, TrialVerdict
from quintet.features.evals import book
from quintet.features.evals.arms import EvalArm, arms, obstacle
from quintet.features.evals.cli import whole
from quintet.features.evals.crew import TrialCrew, cpu_seconds, orders
from quintet.features.evals.page import page
from quintet.features.evals.settings import EvalSettings
from quintet.features.evals.tables import about, by_arm, not_passed, taken
from quintet.features.evals.tasks import Suite, chosen, find_suite
from quintet.surfaces.tables import complain, say, say_json

MOST_WORKERS = 64


def run_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("suite", metavar="SUITE", help="a name of `quintet eval list`, or the path of a folder")
    parser.add_argument("--task", action="append", default=[], metavar="TASK", help="only this task; may be repeated")
    parser.add_argument("--kind", action="append", default=[], metavar="KIND", help="only this kind; may be repeated")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME",
        help="one of your models, PRESET/MODEL, builtin (the offline rules), or script[:RATE] (does each task as its "
        "page says); may be repeated (default: the one you use)",
    )
    parser.add_argument(
        "--executor", action="append", default=[], metavar="NAME", help="codex, claude, gemini or acp:COMMAND"
    )
    parser.add_argument(
        "--presentation", default="", metavar="NAMES", help="menu, flat and search, with commas: each is tried"
    )
    parser.add_argument("--trials", type=int, default=0, metavar="N", help="trials of each task (default: the setting)")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="trials at once (default: the setting)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="for the order of trials, and for script:RATE")
    parser.add_argument(
        "--at-least", type=float, default=0.0, metavar="SHARE", help="exit code 1 where an arm passes less, as in 0.8"
    )


def eval_run(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = layers.load(places)
    own = loaded.settings.table("evals", EvalSettings)
    suite = chosen(find_suite(arguments.suite), arguments.task, arguments.kind)
    trials, workers = arguments.trials or own.trials, arguments.workers or own.workers
    if trials < 1:
        raise UsageError(f"--trials {trials}: 1 or more")
    if not 1 <= workers <= MOST_WORKERS:
        raise UsageError(f"--workers {workers}: expected 1 to {MOST_WORKERS}")
    models = arguments.model or ([] if arguments.executor else [loaded.settings.routing.model(ModelMode.SMART, "")])
    shown = [one for one in arguments.presentation.split(",") if one]
    tried = arms(models, arguments.executor, shown)
    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    run = EvalRun(
        id=f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{RandomIds().new('e')[-4:]}",
        suite=suite.name,
        began=began,
        seed=arguments.seed,
        trials=trials,
        workers=workers,
        arms=tuple(arm.trial.name for arm in tried),
        tasks=tuple(TriedTask(task.name, task.page.kind) for task in suite.tasks),
    )
    run = _made(run, suite, tried, places.root, as_json=arguments.json)
    path = book.keep(run, page(run))
    if arguments.json:
        say_json(whole(run))
    else:
        say([*by_arm(run), *not_passed(run), about(run), "", *taken(run), f"page: {path}"])
    return _exit_code(run, arguments.at_least)


def _made(run: EvalRun, suite: Suite, tried: list[EvalArm], folder: str, *, as_json: bool) -> EvalRun:
    """The run with its results."""
    skipped = tuple(
        SkippedTask(task.name, arm.trial.name, why)
        for task in suite.tasks
        for arm in tried
        if (why := obstacle(task, arm))
    )
    place = os.path.join(evals_folder(), "cases", run.id)
    private_folder(place)
    clock, used = time.monotonic(), cpu_seconds()
    try:
        wanted = orders(suite.tasks, tried, run.trials, run.seed, place)
        crew = TrialCrew(folder, run.workers, (lambda result: None) if as_json else _tell)
        results = asyncio.run(crew.run(wanted))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return structs.replace(
        run,
        results=in_order(results, [task.name for task in run.tasks], run.arms),
        skipped=skipped,
        seconds=round(time.monotonic() - clock, 3),
        cpu_seconds=round(cpu_seconds() - used, 3),
    )


def _tell(one: TrialResult) -> None:
    complain(f"{one.case} {one.arm} {one.number}: {one.verdict}")


def _exit_code(run: EvalRun, least: float) -> int:
    """1 where something could not be graded, or an arm passed less than it had to."""
    graded = (TrialVerdict.PASSED, TrialVerdict.FAILED)
    if run.skipped or any(one.verdict not in graded for one in run.results):
        return 1
    rates = [pass_rate(run.of(arm)) for arm in run.arms]
    return 1 if any(rate.passed < least * rate.graded for rate in rates) else 0
