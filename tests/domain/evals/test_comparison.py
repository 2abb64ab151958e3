"""Comparing arms: the difference of two rates with its interval, and how even the split of tasks is."""

import pytest

from quintet.domain.evals.comparison import compared, difference, sign_test
from quintet.domain.evals.results import in_order, totals
from quintet.domain.ports.trials import TrialResult, TrialVerdict
from quintet.domain.turn.messages import Usage


def results(arm: str, **passed: str) -> list[TrialResult]:
    """For each task a letter for each trial: p passed, f failed, u not graded."""
    kinds = {"p": TrialVerdict.PASSED, "f": TrialVerdict.FAILED, "u": TrialVerdict.UNGRADED}
    return [
        TrialResult(task, arm, number, kinds[letter])
        for task, letters in passed.items()
        for number, letter in enumerate(letters, 1)
    ]


def test_the_interval_of_a_difference_is_newcombes() -> None:
    middle, low, high = difference((48, 80), (56, 70))  # his own first example, the other way round
    assert (round(middle, 4), round(low, 4), round(high, 4)) == (0.2, 0.0524, 0.3339)
    assert difference((0, 0), (3, 3)) == (0.0, -1.0, 1.0)
    assert difference((5, 5), (0, 5))[0] == -1.0


@pytest.mark.parametrize(
    ("better", "worse", "chance"), [(0, 0, 1.0), (5, 5, 1.0), (3, 0, 0.25), (0, 6, 0.03125), (8, 1, 0.0390625)]
)
def test_the_sign_test_is_exact(better: int, worse: int, chance: float) -> None:
    assert sign_test(better, worse) == chance


def test_only_tasks_that_both_were_graded_on_count() -> None:
    found = compared("a", results("a", one="pp", two="fp", three="uu"), "b", results("b", one="ff", two="pp", four="p"))
    assert (found.tasks, found.better, found.worse) == (2, ("two",), ("one",))
    assert [str(rate)[:3] for rate in found.rates] == ["3/4", "2/4"]
    assert found.verdict == "no difference is shown"
    assert compared("a", [], "b", []).verdict == "they have no graded task in common"


def test_a_difference_is_told_only_where_the_interval_leaves_no_doubt() -> None:
    good = results("good", **{f"t{number}": "p" for number in range(20)})
    bad = results("bad", **{f"t{number}": "f" if number < 15 else "p" for number in range(20)})
    assert compared("good", good, "bad", bad).verdict == "bad passes less often"
    assert compared("bad", bad, "good", good).verdict == "good passes more often"


def test_results_come_in_the_order_of_the_table_and_are_summed_by_arm() -> None:
    made = results("b", two="p", one="fu") + results("a", one="p")
    ordered = in_order(made, ["one", "two"], ["a", "b"])
    assert [(one.case, one.arm, one.number) for one in ordered] == [
        ("one", "a", 1),
        ("one", "b", 1),
        ("one", "b", 2),
        ("two", "b", 1),
    ]
    spent = TrialResult("x", "b", 1, TrialVerdict.BROKEN, requests=2, calls=3, usage=Usage(5, 6), cost=0.5, sent=9)
    summed = totals("b", [*made, spent])
    assert (summed.rate.passed, summed.rate.graded, summed.ungraded) == (1, 2, 2)
    assert (summed.trials, summed.requests, summed.sent) == (4, 2, 9)
    assert (summed.calls, summed.tokens, summed.cost) == (3, 11, 0.5)
