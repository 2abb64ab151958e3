"""Edits of a text: exact ones win, others land at one place or nowhere, and nothing else of the text changes."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import ToolFailed
from quintet.domain.edits.edit import Change, edited, nearest_lines
from quintet.domain.edits.indent import carried_over

WORDS = st.sampled_from(["alpha", "beta = 1", "if gamma:", 'delta("x")', "return epsilon", "}", ""])
LINES = st.builds(
    lambda depth, step, word: step * depth + word, st.integers(0, 3), st.sampled_from(["  ", "\t"]), WORDS
)
TEXTS = st.lists(LINES, min_size=1, max_size=14)
ENDS = st.sampled_from(["\n", "\r\n"])


def landed(text: str, old: str, new: str) -> str | None:
    try:
        return edited(text, (Change(old, new),)).text
    except ToolFailed:
        return None


@given(TEXTS, TEXTS, st.text("ab \n\t", max_size=12), ENDS)
def test_an_exact_match_always_wins(before: list[str], behind: list[str], new: str, end: str) -> None:
    old = "<one>\n\t two"
    text = end.join([*before, old.replace("\n", end), *behind])
    made = landed(text, old, new)
    assert made == text.replace(old.replace("\n", end), new.replace("\n", end))


@given(TEXTS, st.data(), ENDS)
def test_an_edit_that_lands_changes_the_lines_it_names_and_no_others(
    lines: list[str], data: st.DataObject, end: str
) -> None:
    """Whatever a model makes of the spaces in it, it lands on lines that are the same but for spaces, or nowhere."""
    first = data.draw(st.integers(0, len(lines) - 1))
    count = data.draw(st.integers(1, len(lines) - first))
    spaced = [
        data.draw(st.sampled_from(["", " ", "    ", "\t"])) + line.strip() + "  " for line in lines[first:][:count]
    ]
    made = landed(end.join(lines) + end, "\n".join(spaced) + "\n", "<new>\n")
    if made is None:
        return
    at = made.split(end).index(next(line for line in made.split(end) if "<new>" in line))
    after = made.split(end)
    assert after[:at] == lines[:at]
    taken = len(lines) - (len(after) - 2)
    assert after[at + 1 : -1] == lines[at + taken :]
    replaced = [" ".join(line.split()) for line in lines[at : at + taken] if line.strip()]
    assert replaced == [" ".join(line.split()) for line in spaced if line.strip()]


@given(TEXTS, st.data())
def test_an_edit_that_fits_two_places_lands_nowhere(lines: list[str], data: st.DataObject) -> None:
    block = [line for line in lines if line.strip()]
    if not block:
        return
    deeper = data.draw(st.sampled_from(["", "    ", "\t"]))
    text = "\n".join([*block, "<between>", *(deeper + line for line in block)]) + "\n"
    old = "".join(f"{line}  \n" for line in block)
    made = landed(text, old, "<new>\n")
    if made is not None:  # then the indentation of the one is as it was written, and that of the other is not
        assert deeper
        assert made == "\n".join(["<new>", "<between>", *(deeper + line for line in block)]) + "\n"


@given(st.binary(max_size=80), st.text("ab \t\n\\\"'", max_size=20), st.text(max_size=8))
def test_any_bytes_come_back_as_they_were_but_for_the_edit(data: bytes, old: str, new: str) -> None:
    text = data.decode("utf-8", "surrogateescape")
    made = landed(text, old, new)
    if made is None:
        assert text.encode("utf-8", "surrogateescape") == data
    else:
        with contextlib.suppress(UnicodeEncodeError):  # a new text may hold half a character; the tool says so
            made.encode("utf-8", "surrogateescape")
        assert text.encode("utf-8", "surrogateescape") == data


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_tolerant_edit_keeps_line_ends_and_the_byte_order_mark(end: str, mark: str) -> None:
    text = mark + end.join(["class A:", "    def f(self):", "        return 1", "    x = 2", ""])
    made = landed(text, "def f(self):\n    return 1\n", "def f(self):\n    y = 1\n    return y\n")
    assert made == mark + end.join(
        ["class A:", "    def f(self):", "        y = 1", "        return y", "    x = 2", ""]
    )


def test_the_file_may_end_without_a_line_end() -> None:
    assert landed("a:\n    b = 1", "  b = 1\n", "  b = 2\n") == "a:\n    b = 2"
    assert landed("a:\n    b = 1", "\tb = 1\n", "") == "a:\n"


def test_unchanged_lines_keep_the_files_own_spelling() -> None:
    text = "x  = \u201cone\u201d  \nlong = 2\n"
    assert landed(text, 'x = "one"\nlong = 2\n', 'x = "one"\nlong = 3\n') == "x  = \u201cone\u201d  \nlong = 3\n"
    assert landed(text, 'x = "one"\n', 'x = "one" + y\n') == "x  = \u201cone\u201d + y\nlong = 2\n"


def test_the_same_edit_twice_says_that_it_was_made() -> None:
    change = Change("    value = 1  \n", "    value = compute_it_once()\n")
    made = edited("def f():\n    value = 1\n", (change,))
    assert made.notes == ("matched with different spaces at the ends of lines, line 2",)
    with pytest.raises(ToolFailed, match="new_string already does, in line 2"):
        edited(made.text, (change,))


def test_edits_are_made_in_order_and_all_or_none() -> None:
    text = "one\ntwo\nthree\n"
    assert edited(text, (Change("one", "1"), Change("1\ntwo", "1\n2"))).text == "1\n2\nthree\n"
    with pytest.raises(ToolFailed) as failed:
        edited(text, (Change("one", "1"), Change("tow and three", "2")))
    assert str(failed.value).startswith("edit 2 of 2: that text does not occur in the file")
    assert "None of the edits was made." in str(failed.value)


def test_several_places_are_named_by_their_lines() -> None:
    with pytest.raises(ToolFailed, match="occurs 3 times, in lines 1, 3, 5; give more"):
        edited("a\nb\na\nb\na\n", (Change("a", "c"),))
    with pytest.raises(ToolFailed, match="2 places are similar, lines 1–2, 4–5; give more"):
        edited("if a:\n  b()\n\n  if a:\n    b()\n", (Change("\tif a:\n\t\tb()\n", "x\n"),))


def test_the_nearest_lines_are_few_and_cut() -> None:
    text = "".join(f"line {n} {'x' * 400}\n" for n in range(500)) + "def almost(this, name):\n    pass\n"
    with pytest.raises(ToolFailed) as failed:
        edited(text, (Change("def almost(this, names):\n" * 60, "x"),))
    shown = str(failed.value).splitlines()
    assert len(shown) <= 17
    assert max(map(len, shown)) < 250
    assert nearest_lines(["a", "b"], ["nothing of the kind"]) is None


@pytest.mark.parametrize(
    ("pairs", "wanted", "unit", "made"),
    [
        ([("", "    ")], ["", "    "], "    ", ["    ", "        "]),  # taken out
        ([("  ", "    ")], ["  ", "    "], "    ", ["    ", "        "]),  # other steps
        ([("    ", "\t"), ("        ", "\t\t")], ["            "], "\t", ["\t\t\t"]),
        ([("\t", "  ")], ["\t\t"], "  ", ["    "]),
        ([("    ", "        ")], [""], "    ", None),  # how far out, nobody knows
        ([("    ", "  "), ("    ", "   ")], ["    "], "  ", None),
        ([("  ", "    "), ("    ", "    ")], ["  "], "    ", None),  # two depths are one in the file
        ([("   ", "  ")], ["     "], "  ", ["    "]),
    ],
)
def test_indentation_is_carried_over_or_it_is_not_certain(
    pairs: list[tuple[str, str]], wanted: list[str], unit: str, made: list[str] | None
) -> None:
    found = carried_over(pairs, wanted, unit)
    assert (None if found is None else [found[indent] for indent in wanted]) == made
