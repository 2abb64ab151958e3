"""Past inputs, and pasted text: cleaned, folded when long, whole again when submitted; keys too fast to type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.input.prompt import (
    FOLD_CHARACTERS,
    FOLD_LINES,
    RAPID_RESET_SECONDS,
    RAPID_SECONDS,
    Pastes,
    RapidKeys,
    Recall,
    cleaned,
    is_long,
)


def test_older_and_newer_and_back_to_the_draft() -> None:
    recall = Recall(["a", "b"])
    assert [recall.older("draft"), recall.older("b"), recall.older("a")] == ["b", "a", None]
    assert [recall.newer(), recall.newer(), recall.newer()] == ["b", "draft", None]


def test_a_new_input_begins_the_walk_anew_and_is_not_doubled() -> None:
    recall = Recall(["a"])
    recall.older("x")
    recall.add("b")
    recall.add("b")
    assert recall.past == ["a", "b"]
    assert recall.older("") == "b"


def test_what_was_typed_before_the_past_was_read_stays_the_newest() -> None:
    recall = Recall()
    recall.add("now")
    recall.fill(["old", "older"])
    assert recall.past == ["old", "older", "now"]
    assert Recall().older("draft") is None


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("tab\there", "tab\there"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("nul\0bell\x07del\x7f", "nul␀bell␇del␡"),
        ("one\x0btwo\x0cthree", "one␋two␌three"),
        ("next\x85line\u2028and\u2029so", "next\nline\nand\nso"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("torn \udcff byte", "torn \\xff byte"),
        ("семья 👩\u200d👧 می\u200cخواهم", "семья 👩\u200d👧 می\u200cخواهم"),
    ],
)
def test_control_characters_are_shown_and_line_ends_are_one_kind(pasted: str, text: str) -> None:
    assert cleaned(pasted) == text


@given(st.text())
def test_what_is_cleaned_is_clean(text: str) -> None:
    once = cleaned(text)
    assert cleaned(once) == once
    assert "\r" not in once
    assert once.count("\n") == len(once.splitlines()) - (not once.endswith("\n") and once != "")
    once.encode()


def test_long_is_many_lines_or_many_characters() -> None:
    assert not is_long("line\n" * (FOLD_LINES - 1) + "line")
    assert is_long("line\n" * FOLD_LINES + "line")
    assert not is_long("line\n" * FOLD_LINES)
    assert not is_long("x" * FOLD_CHARACTERS)
    assert is_long("x" * (FOLD_CHARACTERS + 1))


LINES = "line\n" * 119 + "line"


def test_a_long_paste_is_folded_into_words_that_say_how_much_they_stand_for() -> None:
    pastes = Pastes()
    assert pastes.fold("short\nenough", "") == "short\nenough"
    assert pastes.fold(LINES, "") == "[pasted 120 lines]"
    assert pastes.fold("line\n" * 30, "") == "[pasted 30 lines]"
    assert pastes.fold("x" * 3000, "") == "[pasted 3000 characters]"
    assert pastes.fold(LINES, "see [pasted 120 lines]") == "[pasted 120 lines #2]"


def test_a_placeholder_inside_a_paste_stays_text() -> None:
    pastes = Pastes()
    first = pastes.fold(LINES, "")
    second = pastes.fold(f"{first}\n" * 20, first)
    assert pastes.unfolded(f"{second}|{first}") == f"{first}\n" * 20 + "|" + LINES


def test_what_a_text_ends_with_is_known_so_that_it_can_be_deleted_whole() -> None:
    pastes = Pastes()
    name = pastes.fold(LINES, "")
    assert pastes.before(f"see {name}") == name
    assert pastes.before(f"see {name} ") == ""
    pastes.clear()
    assert pastes.before(name) == ""
    assert pastes.unfolded(name) == name


PIECES = st.tuples(st.sampled_from(["typed", "pasted"]), st.text(alphabet="ab \n", max_size=8), st.integers(1, 3))
NAMES = st.sampled_from(["[pasted 11 lines]", "[pasted 11 lines #2]", "[pasted 31 lines]"])


@given(st.lists(PIECES, max_size=6), NAMES)
def test_folding_and_unfolding_is_the_same_text(pieces: list[tuple[str, str, int]], name: str) -> None:
    """Whatever was typed between the pastes, and though a paste may hold what looks like a placeholder."""
    pastes, shown, whole = Pastes(), "", ""
    for how, piece, times in pieces:
        text = piece if how == "typed" else f"{name}\n" * (10 * times) + piece
        shown += text if how == "typed" else pastes.fold(text, shown)
        whole += text
    assert pastes.unfolded(shown) == whole


def keys(*apart: float) -> list[bool]:
    rapid, now = RapidKeys(), 100.0
    came = []
    for seconds in (0.0, *apart):
        now += seconds
        came.append(rapid.key(now))
    return came


def test_s4_three_keys_within_fifty_milliseconds_each_are_a_paste() -> None:
    close = RAPID_SECONDS / 2
    assert keys(close, close, close) == [False, False, True, True]
    assert keys(0.12, 0.12, 0.12, 0.12) == [False] * 5


def test_s4_a_paste_is_over_after_two_hundred_milliseconds_without_a_key() -> None:
    close = RAPID_SECONDS / 2
    assert keys(close, close, RAPID_RESET_SECONDS * 0.9)[-1]
    assert not keys(close, close, RAPID_RESET_SECONDS * 1.1)[-1]
