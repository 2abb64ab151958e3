"""Markdown as rows: what it looks like, that streaming changes nothing, and that nothing gets out of a row."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from quintet.surfaces.tui.transcript.markdown import MarkdownLines
from quintet.surfaces.tui.transcript.rows import MOST_CHARACTERS, clean, plain, wrap

PAGE = '''\
# Head

Some **bold**, *slanted*, ~~gone~~ and `code` with a [link](https://example.com).

- one
  1. nested
- [x] done

> said

| a | b |
|---|---|
| 1 | two |

```python
def f() -> str:
    """Two
    lines."""
    return 'x'
```
---
end'''


def shown(text: str, width: int = 40) -> list[str]:
    return [plain(row) for row in MarkdownLines(text, "").rows(width)]


def roles(text: str) -> dict[str, str]:
    return {piece: role for row in MarkdownLines(text, "").rows(80) for piece, role in row}


def test_a_page_is_laid_out() -> None:
    assert shown(PAGE) == [
        "Head",
        "",
        "Some bold, slanted, gone and code with a",
        "link (https://example.com).",
        "",
        "• one",
        "  1. nested",
        "• ☑ done",
        "",
        "▎ said",
        "",
        "a │ b",
        "──┼────",
        "1 │ two",
        "",
        "│ def f() -> str:",
        '│     """Two',
        '│     lines."""',
        "│     return 'x'",
        "─" * 36,
        "end",
    ]


def test_pieces_have_the_roles_their_marks_say() -> None:
    found = roles("**b** *i* `c` ~~s~~ # no heading\n# heading")
    assert found["b"] == "bold"
    assert found["i"] == "italic"
    assert found["c"] == "code_inline"
    assert found["s"] == "strike"
    assert found["heading"] == "heading"


@pytest.mark.parametrize("text", ["snake_case_name", "2 * 3 * 4", "a*b*c", "__init__.py", "**", "| a", "#no", "[x] y"])
def test_what_is_no_markup_stays_as_it_is(text: str) -> None:
    assert shown(text) == [text]


@pytest.mark.parametrize(
    ("text", "line", "piece", "role"),
    [
        ("see `a``b` there", "see a``b there", "a``b", "code_inline"),
        ("``a`b``", "a`b", "a`b", "code_inline"),
        ("[a](b_(c))", "a (b_(c))", "a", "underline"),
        ("`` ` ``", " ` ", " ` ", "code_inline"),
        ("`open ``", "`open ``", "`open ``", ""),
    ],
)
def test_marks_end_where_the_standard_says(text: str, line: str, piece: str, role: str) -> None:
    assert shown(text) == [line]
    assert roles(text)[piece] == role


def test_code_is_coloured_by_its_language_and_strings_over_lines_stay_strings() -> None:
    found = roles("```python\nx = '''a\nbell'''\nimport os\n```\n")
    assert found["bell"] == "code success"
    assert found["import"] == "code accent"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), max_size=40), st.integers(20, 90))
def test_however_it_streams_it_ends_the_same(cuts: list[int], width: int) -> None:
    growing, at = MarkdownLines("", ""), 0
    for cut in cuts:
        growing.append(PAGE[at : at + cut])
        at += cut
        growing.rows(width)
    growing.append(PAGE[at:])
    assert growing.rows(width) == MarkdownLines(PAGE, "").rows(width)
    growing.replace(PAGE + "\n\nmore")
    assert growing.rows(width) == MarkdownLines(PAGE + "\n\nmore", "").rows(width)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=200), st.integers(20, 60))
def test_no_text_leaves_its_rows(text: str, width: int) -> None:
    for row in MarkdownLines(text).rows(width):
        line = plain(row)
        assert cell_len(line) <= width
        assert all(c.isprintable() for c in line)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab· 漢é", max_size=120), st.integers(3, 30))
def test_wrapping_loses_nothing_but_the_spaces_at_breaks(text: str, width: int) -> None:
    rows = wrap([(text[:5], "x"), (text[5:], "y")], width)
    assert "".join(plain(row) for row in rows).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(plain(row)) <= max(width, 2) for row in rows)


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("F4 control · F5 profile · F6 model", 30, ["F4 control · F5 profile ·", "   F6 model"]),
        ("F4 control · F5 profile", 40, ["F4 control · F5 profile"]),
        ("a list with an item that is long · b", 20, ["a list with an item", "   that is long · b"]),
    ],
)
def test_a_list_is_broken_between_its_items(text: str, width: int, rows: list[str]) -> None:
    assert [plain(row) for row in wrap([(text, "")], width, "   ")] == rows


def test_escape_sequences_and_bytes_that_are_no_text_are_shown() -> None:
    raw = b"\x1b[31mred\x07 \x9b2J \xff\r".decode("utf-8", "surrogateescape")
    assert shown(raw) == ["␛[31mred␇ \\x9b2J \\xff␍"]


def test_a_very_long_line_is_cut_and_says_so() -> None:
    assert clean("x" * 1_000_000).endswith(f"x … {1_000_000 - MOST_CHARACTERS} more characters")


def test_columns_stand_as_their_table_says() -> None:
    page = "| n | name | kind | left |\n| ---: | :---: | --- | :--- |\n| 7 | abc | x | yes |\n| 1234 | a | longer | n |"
    assert shown(page, 60) == [
        "   n │ name │ kind   │ left",
        "─────┼──────┼────────┼─────",
        "   7 │ abc  │ x      │ yes",
        "1234 │  a   │ longer │ n",
    ]


def test_letters_that_are_joined_are_shown_joined() -> None:
    assert shown("\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e") == [
        "\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e"
    ]
