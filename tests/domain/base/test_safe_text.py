"""What is shown of a text: nothing that acts on a terminal, nothing that hides, and every script as it is written."""

import pytest

from quintet.domain.base.safe_text import exactly, visible

JOINED = [
    "\U0001f469\u200d\U0001f4bb",
    "\u2764\ufe0f\u200d\U0001f525",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u0915\u094d\u200d\u0937",
]


@pytest.mark.parametrize("text", JOINED, ids=["a woman at a computer", "a heart on fire", "Persian", "Hindi"])
def test_joiners_are_text_where_they_join_and_marked_where_something_is_asked(text: str) -> None:
    assert visible(text) == text
    assert visible(f"a {text}\n") == f"a {text}\n"
    assert "\\u200" in exactly(text)


@pytest.mark.parametrize(
    "text",
    [
        "pay\u200dpal",
        "\u200c",
        "rm \u200dx",
        "\u0645\u200c\u200c",
        "\u200b\u200d",
        "\u0645\u200b",
        "\u202ea",
        "\ufeffa",
    ],
)
def test_other_invisible_characters_stay_marked_and_so_do_joiners_that_join_nothing(text: str) -> None:
    assert "\\u" in visible(text)
