"""The results of an eval, as they are kept, and what they come to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from quintet.domain.evals.rates import PassRate, pass_rate
from quintet.domain.ports.trials import TrialResult, TrialVerdict


class TriedTask(Struct, frozen=True):
    name: str
    kind: str


class SkippedTask(Struct, frozen=True):
    task: str
    arm: str
    reason: str


class EvalRun(Struct, frozen=True):
    """One run of a suite: every trial of it, in the order of tasks, arms and numbers."""

    id: str
    suite: str
    began: str
    seed: int
    trials: int
    workers: int
    arms: tuple[str, ...]
    tasks: tuple[TriedTask, ...]
    results: tuple[TrialResult, ...] = ()
    skipped: tuple[SkippedTask, ...] = ()
    seconds: float = 0.0  # from beginning to end
    cpu_seconds: float = 0.0  # of all that it started

    def of(self, arm: str) -> list[TrialResult]:
        return [one for one in self.results if one.arm == arm]

    def of_task(self, arm: str, task: str) -> list[TrialResult]:
        return [one for one in self.of(arm) if one.case == task]

    @property
    def passed(self) -> bool:
        return all(one.verdict is TrialVerdict.PASSED for one in self.results)


class ArmTotals(Struct, frozen=True):
    arm: str
    rate: PassRate
    ungraded: int
    trials: int
    requests: int
    sent: int  # bytes of them
    calls: int
    tokens: int
    cost: float
    seconds: float


def totals(arm: str, results: Iterable[TrialResult]) -> ArmTotals:
    mine = [one for one in results if one.arm == arm]
    return ArmTotals(
        arm,
        pass_rate(mine),
        sum(one.verdict in (TrialVerdict.UNGRADED, TrialVerdict.BROKEN) for one in mine),
        len(mine),
        sum(one.requests for one in mine),
        sum(one.sent for one in mine),
        sum(one.calls for one in mine),
        sum(one.usage.input_tokens + one.usage.output_tokens for one in mine),
        sum(one.cost for one in mine),
        round(sum(one.seconds for one in mine), 1),
    )


def in_order(results: Iterable[TrialResult], tasks: Sequence[str], arms: Sequence[str]) -> tuple[TrialResult, ...]:
    """As a table has them, whichever trial ended first."""
    return tuple(sorted(results, key=lambda one: (tasks.index(one.case), arms.index(one.arm), one.number)))
