"""JSON from outside is a value or a DecodeError, whatever it is, and never deeper than a walker bears."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.wire_json import MOST_DEPTH, decode, deeper_than

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=20,
)
bits = st.sampled_from(["[", "]", "{", "}", '"', "\\", ":", ",", '{"a":', "1", "\n", "\ud800", "e9", "-", "tru"])
torn = st.lists(st.tuples(bits, st.integers(1, 400)), max_size=12).map(lambda p: "".join(b * n for b, n in p))


def depth_of(value: Any) -> int:
    """By walking it, without recursion."""
    deepest, todo = 0, [(value, 0)]
    while todo:
        one, depth = todo.pop()
        if isinstance(one, dict | list):
            deepest = max(deepest, depth + 1)
            todo += [(inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one)]
    return deepest


@given(values, st.booleans())
def test_what_is_within_bounds_is_read_as_it_is(value: Any, as_bytes: bool) -> None:
    text = json.dumps(value)
    assert decode(text.encode() if as_bytes else text) == value


@given(values, st.integers(0, 8))
def test_depth_is_what_the_value_has(value: Any, most: int) -> None:
    assert deeper_than(json.dumps(value), most) is (depth_of(value) > most)


@given(torn)
def test_whatever_stands_there_is_a_value_or_one_kind_of_error(text: str) -> None:
    for data in (text, text.encode("utf-8", "surrogatepass")):
        with suppress(msgspec.DecodeError):
            assert depth_of(decode(data)) <= MOST_DEPTH


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"":', "[[], ", ' \n[ "]" , '])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("times", [MOST_DEPTH + 1, 900, 100_000])
def test_what_is_nested_too_deep_is_said_to_be(opening: str, closed: bool, times: int) -> None:
    ends = {"[": "]", "{": "}"}
    closing = "".join(ends[c] for c in reversed([c for c in opening.replace("[]", "") if c in ends]))
    with pytest.raises(msgspec.DecodeError, match="nested more than"):
        decode(opening * times + ("1" + closing * times if closed else ""))


@pytest.mark.parametrize(
    "text", ['"' + "[" * 5_000 + '"', json.dumps({"a": '\\"[{' * 5_000}), json.dumps([[]] * 5_000)]
)
def test_brackets_in_a_text_or_beside_each_other_nest_nothing(text: str) -> None:
    assert decode(text) == json.loads(text)


def deep_down(levels: int, work: Callable[[], Any]) -> Any:
    return work() if levels == 0 else deep_down(levels - 1, work)


def test_a_caller_deep_down_gets_the_same_kind_of_error() -> None:
    import sys

    text = "[" * MOST_DEPTH + "]" * MOST_DEPTH
    for levels in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit(), 10):
        try:
            deep_down(levels, lambda: decode(text))
        except msgspec.DecodeError:
            break
        except RecursionError:  # of Python's own frames, before anything was read
            break


@pytest.mark.parametrize("wrong", ["", "{", "\ud800", '"\\ud800"', "1" * 5_000, "1e999", b"\xff", b'"\xff"'])
def test_every_other_fault_is_the_same_kind_of_error(wrong: str | bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(wrong)
