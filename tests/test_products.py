"""What the suite leaves out of a test with several parameters (`tests/products.py`), and that it says so."""

from itertools import product

import pytest

from tests.products import Point, covering


def points(*sizes: int) -> list[Point]:
    return [dict(enumerate(map(str, values))) for values in product(*map(range, sizes))]


@pytest.mark.parametrize("sizes", [(3, 2), (2, 9), (5, 3, 2), (2, 2, 2), (4, 1, 3), (3, 7, 2, 2)])
def test_every_value_is_in_it_and_every_pair_but_those_of_the_longest(sizes: tuple[int, ...]) -> None:
    of = points(*sizes)
    chosen = [of[place] for place in covering(of)]
    longest = max(range(len(sizes)), key=lambda name: sizes[name])
    for name, size in enumerate(sizes):
        assert {point[name] for point in chosen} == set(map(str, range(size)))
    others = [name for name in range(len(sizes)) if name != longest]
    for one, other in product(others, others):
        if one < other:
            assert len({(point[one], point[other]) for point in chosen}) == sizes[one] * sizes[other]


def test_values_that_always_come_together_are_one_parameter() -> None:
    of: list[Point] = [{0: str(value), 1: str(value)} for value in range(5)]
    assert list(covering(of)) == [0, 1, 2, 3, 4]


def test_each_of_the_few_gets_its_share_of_the_many() -> None:
    of = points(12, 3)
    few = [of[place][1] for place in covering(of)]
    assert sorted(few) == sorted("012" * 4)


def test_a_test_with_one_parameter_is_run_with_all_of_it() -> None:
    assert list(covering(points(7))) == list(range(7))
    assert list(covering([{}])) == [0]
