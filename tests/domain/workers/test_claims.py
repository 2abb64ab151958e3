"""What workers claim, who is in the way of whom, and which of those that wait for each other gives way."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.tasks.task import Intent
from quintet.domain.workers.claims import PathClaims, SymbolLines, gives_way, waiting_circle, widening, with_lines

PATHS = ("a.py", "src", "src/a.py", "src/b.py", "src/deep/c.py", "src/deep", ".", "./src/a.py", "src/")
PARTS: tuple[tuple[int, int, str, str], ...] = (
    *((0, 0, "", ""), (1, 10, "", ""), (10, 20, "", ""), (21, 30, "", "")),
    *((1, 10, "f", "one"), (12, 20, "g", "one"), (22, 30, "g", "two"), (0, 0, "h", "")),
)
INTENTS = st.builds(lambda path, part: Intent(path, *part), st.sampled_from(PATHS), st.sampled_from(PARTS))
CLAIMS = st.dictionaries(st.sampled_from("abcd"), st.lists(INTENTS, max_size=4), max_size=4)


@pytest.mark.parametrize(
    ("held", "wanted", "meets"),
    [
        ("a.py", "a.py", True),
        ("a.py", "b.py", False),
        ("src/", "src/a.py", True),
        ("src/a.py", "src", True),
        ("src/a.py", "source", False),
        (".", "src/a.py", True),
        ("src/a.py", ".", True),
        ("./src//a.py", "src/a.py", True),
        ("a.py:1-10", "a.py:11-20", False),
        ("a.py:1-10", "a.py:10-20", True),
        ("a.py:1-10", "a.py", True),
    ],
)
def test_who_is_in_the_way(held: str, wanted: str, meets: bool) -> None:
    found = PathClaims({"t1": [_intent(held)]}).in_the_way("t2", [_intent(wanted)])
    assert [one.task for one in found] == (["t1"] if meets else [])


def _intent(text: str) -> Intent:
    path, _, lines = text.partition(":")
    return Intent(path, *map(int, lines.split("-"))) if lines else Intent(path)


@pytest.mark.parametrize(
    ("held", "wanted", "meets"),
    [
        ((1, 9, "f", "one"), (11, 20, "g", "one"), False),
        ((1, 30, "Calc", "one"), (11, 20, "Calc.add", "one"), True),
        ((1, 9, "f", "one"), (11, 20, "g", "two"), True),  # one of the two has moved: the whole file
        ((1, 9, "f", "one"), (0, 0, "h", ""), True),  # unknown: the whole file
        ((1, 9, "f", "one"), (5, 7, "", ""), True),
        ((1, 9, "f", "one"), (10, 12, "", ""), False),
        ((1, 9, "f", "one"), (0, 0, "", ""), True),
    ],
)
def test_symbols_are_in_the_way_by_their_lines_in_one_content(
    held: tuple[int, int, str, str], wanted: tuple[int, int, str, str], meets: bool
) -> None:
    one, other = Intent("a.py", *held), Intent("a.py", *wanted)
    for first, second in ((one, other), (other, one)):
        found = PathClaims({"t1": [first]}).in_the_way("t2", [second])
        assert bool(found) is meets is first.meets(second)
    assert PathClaims({"t1": [one]}).in_the_way("t2", [Intent("b.py", *wanted)]) == []


def test_a_symbol_is_claimed_by_the_lines_found_and_else_the_whole_file() -> None:
    wanted = Intent("a.py", symbol="f")
    found = with_lines(wanted, SymbolLines(3, 8, "one"))
    assert (found.first, found.last, found.content, str(found)) == (3, 8, "one", "a.py::f")
    assert with_lines(found, None) == wanted
    assert PathClaims({"t1": [with_lines(wanted, None)]}).covers("t1", "a.py")


@given(CLAIMS, st.lists(INTENTS, max_size=3))
def test_the_index_says_what_comparing_all_of_them_says(claims: dict[str, list[Intent]], wanted: list[Intent]) -> None:
    held = PathClaims(claims)
    plain = {
        task
        for task, intents in claims.items()
        if task != "a" and any(_meets(one, other) for one in wanted for other in intents)
    }
    assert {one.task for one in held.in_the_way("a", wanted)} == plain


def _meets(one: Intent, other: Intent) -> bool:
    left, right = (Intent("/" + _clean(intent.path), intent.first, intent.last) for intent in (one, other))
    if "/" in (left.path, right.path):
        return left.path != right.path or left.meets(right)
    return left.meets(right)


def _clean(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


@given(CLAIMS)
def test_what_is_let_go_of_is_in_nobodys_way(claims: dict[str, list[Intent]]) -> None:
    held = PathClaims(claims)
    for task in claims:
        held.drop(task)
    assert held.in_the_way("z", [Intent(".")]) == []
    assert not held._at and not held._below


@pytest.mark.parametrize(
    ("claimed", "written", "more"),
    [
        ("a.py", "a.py", ()),
        ("src/", "src/deep/c.py", ()),
        ("a.py:1-10", "a.py", ()),  # which lines it writes nobody can say beforehand
        ("a.py", "b.py", ("b.py",)),
        (".", "b.py", ()),
    ],
)
def test_a_write_outside_the_claim_widens_it(claimed: str, written: str, more: tuple[str, ...]) -> None:
    held = PathClaims({"t": [_intent(claimed)]})
    assert tuple(one.path for one in widening(held, "t", [written])) == more


def _waits(edges: dict[str, str]) -> Callable[[str], tuple[str, ...]]:
    return lambda task: tuple(edges.get(task, ""))


@pytest.mark.parametrize(
    ("edges", "gives"),
    [
        ({"a": "b"}, set()),
        ({"a": "b", "b": "a"}, {"b"}),
        ({"a": "b", "b": "c", "c": "a"}, {"c"}),
        ({"a": "b", "b": "a", "c": "a"}, {"b"}),  # who waits for a circle is not in it
        ({"a": "bc", "c": "a"}, {"c"}),
    ],
)
def test_of_a_circle_the_last_in_the_plan_gives_way(edges: dict[str, str], gives: set[str]) -> None:
    found = {task for task in "abc" if gives_way(task, _waits(edges), lambda task: ("", task))}
    assert found == gives


@given(st.dictionaries(st.sampled_from("abcdef"), st.text("abcdef", max_size=3)))
def test_every_circle_has_one_that_gives_way(edges: dict[str, str]) -> None:
    for task in "abcdef":
        circle = waiting_circle(task, _waits(edges))
        if circle:
            steps = zip(circle, (*circle[1:], circle[0]), strict=True)
            assert all(after in edges[before] for before, after in steps)
            assert any(gives_way(one, _waits(edges), lambda one: ("", one)) for one in "abcdef")
