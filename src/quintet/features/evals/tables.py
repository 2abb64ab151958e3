"""Runs as tables of text. What differs from run to run without saying anything, such as seconds, stands below them."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.evals.comparison import Comparison
from quintet.domain.evals.rates import pass_rate
from quintet.domain.evals.results import ArmTotals, EvalRun, totals
from quintet.domain.ports.trials import TrialVerdict

HEADING = ("ARM", "PASSED", "NOT GRADED", "REQUESTS", "CALLS", "TOKENS", "COST")
MOST_WRONG = 20  # trials that are told one by one


def by_arm(run: EvalRun) -> list[str]:
    sums = [totals(arm, run.results) for arm in run.arms]
    rows = [
        (
            one.arm,
            str(one.rate),
            str(one.ungraded or "-"),
            _or_dash(str(one.requests)),
            str(one.calls),
            f"{one.tokens:,}",
            f"{one.cost:.4f}",
        )
        for one in sums
    ]
    return table(rows, heading=HEADING, right=(2, 3, 4, 5, 6))


def taken(run: EvalRun) -> list[str]:
    """What a trial of each arm took on average; an AI CLI does not say how often it asks, nor how much."""
    rows = [
        (one.arm, *(_or_dash(f"{amount / one.trials:{form}}") for amount, form in _amounts(one)))
        for arm in run.arms
        if (one := totals(arm, run.results)).trials
    ]
    return table(rows, heading=("PER TRIAL", "REQUESTS", "BYTES", "TOKENS", "COST", "SECONDS"), right=range(1, 6))


def _amounts(one: ArmTotals) -> Sequence[tuple[float, str]]:
    return (one.requests, ".1f"), (one.sent, ",.0f"), (one.tokens, ",.0f"), (one.cost, ".4f"), (one.seconds, ".1f")


def _or_dash(number: str) -> str:
    return number if number.strip("0.") else "-"


def by_task(run: EvalRun) -> list[str]:
    """How often each task passed, an arm in each column."""
    rows = [(task.name, task.kind, *(_cell(run, arm, task.name) for arm in run.arms)) for task in run.tasks]
    return table(rows, heading=("TASK", "KIND", *(arm.upper() for arm in run.arms)))


def _cell(run: EvalRun, arm: str, task: str) -> str:
    results = run.of_task(arm, task)
    rate = pass_rate(results)
    return f"{rate.passed}/{rate.graded}" if rate.graded else "not graded" if results else "-"


def about(run: EvalRun) -> str:
    at_once = f"{run.workers} at once" if run.workers > 1 else "one after the other"
    busy = run.cpu_seconds / run.seconds if run.seconds else 0.0
    return (
        f"{run.id}: {counted(len(run.results), 'trial')} of {run.suite}, seed {run.seed}, {at_once}, "
        f"{run.seconds:.1f} s, {busy:.1f} cores"
    )


def not_passed(run: EvalRun) -> list[str]:
    wrong = [one for one in run.results if one.verdict is not TrialVerdict.PASSED]
    lines = []
    for one in wrong[:MOST_WRONG]:
        lines.append(f"{one.case} {one.arm} {one.number} {one.verdict}: {one.reason or one.status}")
        if one.workspace:
            lines.append(f"  kept: {one.workspace}")
    if len(wrong) > MOST_WRONG:
        lines.append(f"{len(wrong) - MOST_WRONG} more that did not pass; --json has them all")
    return [*lines, *(f"{one.task} {one.arm}: not tried: {one.reason}" for one in run.skipped)]


def comparisons(found: Sequence[Comparison]) -> list[str]:
    rows = [
        (
            one.first,
            str(one.rates[0]),
            one.second,
            str(one.rates[1]),
            f"{one.difference:+.0%} ({one.low:+.0%} to {one.high:+.0%})",
            str(len(one.better)),
            str(len(one.worse)),
            f"{one.chance:.2f}",
        )
        for one in found
    ]
    heading = ("FIRST", "PASSED", "SECOND", "PASSED", "DIFFERENCE", "BETTER", "WORSE", "CHANCE")
    return table(rows, heading=heading, right=(5, 6, 7))
