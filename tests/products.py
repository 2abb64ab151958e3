"""Of a test with several parameters the suite runs enough to have every value, and pairs; not every combination.

In `ROOMS`, where a test starts programs. Of its parameters the one with the most values is run with each of them once,
and every two values of the others are run together. Of a corpus whose every line starts a program it runs `some`. Which
these are is the same in every run. All of them: `scripts/faults products` (QUINTET_TEST_PRODUCTS=1).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, groupby
from typing import Any, TypeVar

import pytest

ALL = bool(os.environ.get("QUINTET_TEST_PRODUCTS"))
ROOMS = tuple(f"tests/{room}/" for room in ("attacks", "faults", "features", "scenarios", "surfaces", "engine/cycle"))
Row = TypeVar("Row")
Point = dict[int, str]  # of each parameter, the name of its value


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if ALL or any("[" in word for word in config.args):  # a test that is named is run
        return
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for _, group in groupby(items, lambda item: (item.path, getattr(item, "originalname", item.name))):
        tests = list(group)
        chosen = covering([_point(test) for test in tests]) if tests[0].nodeid.startswith(ROOMS) else range(len(tests))
        wanted = set(chosen)
        for place, test in enumerate(tests):
            (kept if place in wanted else left).append(test)
    items[:] = kept
    if left:
        config.hook.pytest_deselected(items=left)


def some(rows: Sequence[Row], every: int) -> list[Row]:
    """Of the rows of a corpus, each of which starts a program, every N-th; all of them with all combinations."""
    return list(rows if ALL else rows[::every])


def _point(test: Any) -> Point:
    spec = getattr(test, "callspec", None)
    return dict(enumerate(spec._idlist)) if spec else {}


def covering(points: Sequence[Point]) -> Iterable[int]:
    """The places of the points that are enough, in their order."""
    names = _apart(points)
    if len(names) < 2:
        return range(len(points))
    needs = [_needs(point, names) for point in points]
    missing = set().union(*needs)
    used: Counter[tuple[Any, ...]] = Counter()
    chosen = []
    while missing:
        best = max(
            range(len(points)),
            key=lambda place: (len(needs[place] & missing), -sum(used[need] for need in needs[place]), -place),
        )
        chosen.append(best)
        missing -= needs[best]
        used.update(needs[best])
    return sorted(chosen)


def _apart(points: Sequence[Point]) -> list[int]:
    """The parameters that vary, one of those that vary together; the one with the most values first."""
    seen: dict[tuple[str, ...], int] = {}
    for name in points[0] if points else ():
        values = tuple(point.get(name, "") for point in points)
        if len(set(values)) > 1:
            seen.setdefault(values, name)
    return [name for values, name in sorted(seen.items(), key=lambda one: -len(set(one[0])))]


def _needs(point: Point, names: list[int]) -> set[tuple[Any, ...]]:
    each = {(name, point[name]) for name in names}
    pairs = {(one, point[one], other, point[other]) for one, other in combinations(names[1:], 2)}
    return each | pairs
