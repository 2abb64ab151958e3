"""`quintet skills eval`: the trials of a skill's cases, as a table, as JSON and as a page."""

from __future__ import annotations

import asyncio
import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from msgspec import structs

from quintet.adapters.files.paths import evals_folder, locate
from quintet.adapters.settings import layers as config
from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import ModelMode
from quintet.domain.ports.trials import TrialResult, TrialRunner
from quintet.features.registry import trial_runner
from quintet.features.skills.cli import named
from quintet.features.skills.evals.cases import arms, eval_cases
from quintet.features.skills.evals.page import page
from quintet.features.skills.evals.run import EvalReport, as_value, run_evals
from quintet.features.skills.wiring import make_shelf, settings_of
from quintet.surfaces.tables import complain, say, say_json, table

BUILTIN = "builtin"


def arguments_of(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the skill's name, or the path of its folder")
    parser.add_argument("--case", action="append", default=[], metavar="CASE", help="only this case; may be repeated")
    parser.add_argument("--trials", type=int, default=0, metavar="N", help="trials of each case (default: the setting)")
    parser.add_argument("--model", default="", metavar="NAME", help="one of your models, or PRESET/MODEL")
    parser.add_argument("--only-with", action="store_true", help="no trials without the skill")
    parser.add_argument("--by-model", action="store_true", help="the model itself has to choose the skill")
    parser.add_argument("--page", default="", metavar="FILE", help="where to write the page (default: with the state)")


def skills_eval(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    chosen = {f"routing.{way}": arguments.model for way in ModelMode} if arguments.model else None
    loaded = config.load(places, chosen)
    own = settings_of(loaded)
    shelf = make_shelf(places, loaded)
    skill, _ = named(arguments.name, shelf)
    if skill.problem:
        raise UsageError(f"{skill.name}: {skill.problem}")
    found = eval_cases(skill)
    if arguments.case:
        unknown = set(arguments.case) - {one.name for one in found}
        if unknown:
            raise UsageError(f"{skill.name} has no case {min(unknown)}")
        found = [one for one in found if one.name in arguments.case]
    if not found:
        raise UsageError(f"{skill.name} has no evals: put cases into {os.path.join(skill.folder, 'evals')}/case-N")
    runner: TrialRunner | None = trial_runner(places, loaded)
    if runner is None:
        raise UsageError("nothing here can run trials")
    trials = arguments.trials or own.eval_trials
    if trials < 1:
        raise UsageError(f"--trials {trials}: 1 or more")
    model = loaded.settings.routing.model(ModelMode.SMART, "")
    beside = [one.folder for one in shelf.listed() if one.folder and one.name == skill.name]
    tried = arms(skill, by_model=arguments.by_model, both=not arguments.only_with, beside=beside)
    tried = [structs.replace(arm, settings={**arm.settings, **(chosen or {})}) for arm in tried]
    report = asyncio.run(
        run_evals(skill.name, found, tried, trials, runner, model, offline=model == BUILTIN, tell=_progress(arguments))
    )
    path = _written(report, arguments.page)
    if arguments.json:
        say_json({**as_value(report), "page": path})
    else:
        say([*lines(report), f"page: {path}"])
    return 0 if report.passed else 1


def _progress(arguments: Namespace) -> Callable[[TrialResult], None]:
    def tell(one: TrialResult) -> None:
        complain(f"{one.case} {one.arm} {one.number}: {one.verdict}{f', {one.reason}' if one.reason else ''}")

    return tell if not arguments.json else lambda one: None


def lines(report: EvalReport) -> list[str]:
    """A report for a terminal."""
    rows = [
        (
            arm.arm,
            str(arm.rate),
            str(arm.ungraded or "-"),
            str(arm.requests),
            f"{arm.tokens:,}",
            f"{arm.cost:.4f}",
            f"{arm.seconds:g}",
        )
        for arm in report.arms
    ]
    heading = ("SKILL", "PASSED", "NOT GRADED", "REQUESTS", "TOKENS", "COST", "SECONDS")
    shown = table(rows, heading=heading, right=(2, 3, 4, 5, 6)) if rows else []
    kept = [f"{one.case} {one.arm} {one.number} {one.verdict}: {one.reason or one.status}" for one in _wrong(report)]
    places = [f"  kept: {one.workspace}" for one in _wrong(report) if one.workspace]
    return [*shown, *kept, *places, *(f"{name}: {why}" for name, why in report.skipped)]


def _wrong(report: EvalReport) -> list[TrialResult]:
    return [one for one in report.trials if one.verdict != "passed"]


def _written(report: EvalReport, wanted: str) -> str:
    path = wanted or os.path.join(evals_folder(), report.skill, f"{time.strftime('%Y%m%d-%H%M%S')}.html")
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(report))
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
    return os.path.abspath(path)
