"""Words for people: the first line of a text, where one line has to do."""

import pytest

from quintet.domain.base.wording import first_line


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("\n \n", ""),
        ("one\ntwo", "one"),
        ("  one  \n", "one"),
        ("`make` failed:\n\nexit 1\n\nmore", "`make` failed: exit 1"),
        ("wrong:", "wrong:"),
    ],
)
def test_one_line_of_a_text_says_something(text: str, wanted: str) -> None:
    assert first_line(text) == wanted
