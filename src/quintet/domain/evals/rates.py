"""How often something passed, and how sure that is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from msgspec import Struct

from quintet.domain.ports.trials import TrialResult, TrialVerdict

SURE = 1.959963984540054  # of 95 %


class PassRate(Struct, frozen=True):
    passed: int
    graded: int
    low: float  # of the interval
    high: float

    def __str__(self) -> str:
        if not self.graded:
            return "not graded"
        return f"{self.passed}/{self.graded} ({self.low:.0%} to {self.high:.0%})"


def wilson(passed: int, graded: int) -> tuple[float, float]:
    """The interval of Wilson's score, of 95 %; everything if nothing was graded."""
    if graded <= 0:
        return 0.0, 1.0
    share, spread = passed / graded, SURE * SURE / graded
    middle = (share + spread / 2) / (1 + spread)
    half = SURE * sqrt(share * (1 - share) / graded + spread / (4 * graded)) / (1 + spread)
    low = 0.0 if passed == 0 else max(0.0, middle - half)
    return low, 1.0 if passed == graded else min(1.0, middle + half)


def pass_rate(results: Iterable[TrialResult]) -> PassRate:
    """Of the trials that were graded."""
    graded = [one for one in results if one.verdict in (TrialVerdict.PASSED, TrialVerdict.FAILED)]
    passed = sum(one.verdict is TrialVerdict.PASSED for one in graded)
    return PassRate(passed, len(graded), *wilson(passed, len(graded)))
