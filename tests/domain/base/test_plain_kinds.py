"""What msgspec finds wrong with a value, in plain words."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from quintet.domain.base.plain_kinds import plainly


class Inner(msgspec.Struct):
    args: list[str] = []


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ("many", int, "wanted a whole number, found text"),
        (1.5, int, "wanted a whole number, found a number"),
        ("yes", bool, "wanted true or false, found text"),
        ("x", list[str], "wanted a list, found text"),
        (3, dict[str, str], "wanted a table, found a whole number"),
        (True, int | None, "wanted a whole number or nothing, found true or false"),
        (-1, Annotated[int, Meta(ge=0)], "wanted a whole number, at least 0"),
        (2.5, Annotated[float, Meta(lt=1.5)], "wanted a number, less than 1.5"),
        ("", Annotated[str, Meta(min_length=1)], "wanted text, at least 1 long"),
        ({"args": 3}, Inner, "wanted a list, found a whole number (args)"),
        ([1], list[str], "wanted text, found a whole number ([0])"),
    ],
)
def test_a_kind_is_said_as_the_reference_says_it(value: Any, kind: Any, words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(value, kind)
    assert plainly(error.value) == words
