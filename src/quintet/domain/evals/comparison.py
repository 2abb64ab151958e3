"""Whether one arm of an eval does better than another, and how sure that is. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt

from msgspec import Struct

from quintet.domain.evals.rates import PassRate, pass_rate, wilson
from quintet.domain.ports.trials import TrialResult


class Comparison(Struct, frozen=True):
    """Of a second arm with a first, on the tasks that both were graded on."""

    first: str
    second: str
    tasks: int
    rates: tuple[PassRate, PassRate]
    difference: float  # of the rates: second less first
    low: float  # of its interval, of 95 %
    high: float
    better: tuple[str, ...]  # tasks that the second passes more often
    worse: tuple[str, ...]
    chance: float  # how often so uneven a split of these tasks comes about if both are equally good

    @property
    def verdict(self) -> str:
        if not self.tasks:
            return "they have no graded task in common"
        if self.low > 0:
            return f"{self.second} passes more often"
        return f"{self.second} passes less often" if self.high < 0 else "no difference is shown"


def difference(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float, float]:
    """Of two rates, given as (passed, graded), and its interval of 95 %: Newcombe's, from the two of Wilson."""
    if not first[1] or not second[1]:
        return 0.0, -1.0, 1.0
    one, two = first[0] / first[1], second[0] / second[1]
    (low_one, high_one), (low_two, high_two) = wilson(*first), wilson(*second)
    middle = two - one
    down = sqrt((two - low_two) ** 2 + (high_one - one) ** 2)
    up = sqrt((high_two - two) ** 2 + (one - low_one) ** 2)
    return middle, max(-1.0, middle - down), min(1.0, middle + up)


def sign_test(better: int, worse: int) -> float:
    """Two-sided: how often as uneven a split comes about by tossing a coin."""
    number, few = better + worse, min(better, worse)
    if not number:
        return 1.0
    return float(min(1.0, 2 * sum(comb(number, k) for k in range(few + 1)) / 2**number))


def compared(first: str, ones: Sequence[TrialResult], second: str, twos: Sequence[TrialResult]) -> Comparison:
    """The arms by the names that a reader knows them by; tasks that only one was graded on do not count."""
    graded = [{one.case for one in results if pass_rate([one]).graded} for results in (ones, twos)]
    common = sorted(graded[0] & graded[1])
    kept = [[one for one in results if one.case in common] for results in (ones, twos)]
    rates = (pass_rate(kept[0]), pass_rate(kept[1]))
    by_task = {task: [_share(results, task) for results in kept] for task in common}
    better = tuple(task for task, (one, two) in by_task.items() if two > one)
    worse = tuple(task for task, (one, two) in by_task.items() if two < one)
    middle, low, high = difference(*((rate.passed, rate.graded) for rate in rates))
    chance = sign_test(len(better), len(worse))
    return Comparison(first, second, len(common), rates, middle, low, high, better, worse, chance)


def _share(results: Sequence[TrialResult], task: str) -> float:
    rate = pass_rate(one for one in results if one.case == task)
    return rate.passed / rate.graded if rate.graded else 0.0
