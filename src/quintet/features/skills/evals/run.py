"""Runs the evals of a skill: each case so often with the skill and so often without it, and sums them up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from quintet.domain.evals.results import ArmTotals, totals
from quintet.domain.ports.ports import Model
from quintet.domain.ports.trials import TrialArm, TrialCase, TrialResult, TrialRunner, TrialVerdict

NEEDS_MODEL = "needs a model: connect one, or name one with --model"


class EvalReport(Struct, frozen=True):
    skill: str
    model: str
    trials: tuple[TrialResult, ...]
    arms: tuple[ArmTotals, ...]
    skipped: tuple[tuple[str, str], ...] = ()  # cases that were not tried, and why

    @property
    def passed(self) -> bool:
        """Whether every trial with the skill passed, of those that could be tried."""
        wanted = [one for one in self.trials if one.arm == self.arms[0].arm] if self.arms else []
        return all(one.verdict is TrialVerdict.PASSED for one in wanted)


async def run_evals(
    skill: str,
    found: Sequence[TrialCase],
    arms: Sequence[TrialArm],
    trials: int,
    runner: TrialRunner,
    model_name: str,
    *,
    offline: bool,
    model: Model | None = None,
    tell: Callable[[TrialResult], None] = lambda result: None,
) -> EvalReport:
    """`offline`: no model answers, so that only lines are tried, which come out the same each time: once."""
    results: list[TrialResult] = []
    skipped: list[tuple[str, str]] = []
    for one in found:
        if offline and not one.line:
            skipped.append((one.name, NEEDS_MODEL))
            continue
        chosen = arms[:1] if one.line else arms
        for arm in chosen:
            for number in range(1, (1 if one.line else trials) + 1):
                results.append(await runner.run(one, arm, number, model))
                tell(results[-1])
    names = [arm.name for arm in arms if any(one.arm == arm.name for one in results)]
    return EvalReport(skill, model_name, tuple(results), tuple(totals(name, results) for name in names), tuple(skipped))


def as_value(report: EvalReport) -> dict[str, Any]:
    return {
        "skill": report.skill,
        "model": report.model,
        "passed": report.passed,
        "arms": report.arms,
        "trials": report.trials,
        "skipped": [{"case": name, "reason": why} for name, why in report.skipped],
    }
