"""Every text that a person can read is in docs/words.txt, so that a change of wording is one review."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
WORDS = runpy.run_path(str(DOCS / "words.py"))
LIST = (DOCS / "words.txt").read_text()


def test_the_list_of_words_is_complete() -> None:
    assert WORDS["made"]() == LIST, "run scripts/docs"


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('print("No session here")', ["No session here"]),
        ('print(f"{len(tasks)} tasks,\\n{state.name}")', ["{tasks} tasks,\\n{name}"]),
        ("print(f\"{'one more' if more else 'none'} of {count}\")", ["one more", "{…} of {count}"]),
        ('print(", ".join(names) + " are queued")', ["are queued"]),
        ('raise UsageError("queued " "once")', ["queued once"]),
    ],
)
def test_a_text_is_listed(source: str, texts: list[str]) -> None:
    assert WORDS["texts"](source) == texts


@pytest.mark.parametrize(
    "source",
    [
        '"""What a file holds."""',
        'NAME = "queued"',
        'if line == "no such file": pass',
        'line.startswith("no such file")',
        're.compile("one or two")',
        'rows = "SELECT seq FROM events"',
        'DEFAULT_CSS = "Screen { layout: vertical }"',
        'WORDS = "one two three".split()',
        'kind: Literal["one two"]',
    ],
)
def test_what_is_no_text_is_not_listed(source: str) -> None:
    assert WORDS["texts"](source) == []
