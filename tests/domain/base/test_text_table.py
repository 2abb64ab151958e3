"""Listings: columns stand below each other, whatever the cells hold and however narrow the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.text_table import cells, table


def test_columns_stand_below_each_other_and_no_line_ends_in_spaces() -> None:
    rows = [("a", "12", "free"), ("long name", "3", "")]
    assert table(rows, heading=("NAME", "N", "WHAT"), right=(1,)) == [
        "NAME        N  WHAT",
        "a          12  free",
        "long name   3",
    ]


def test_cells_are_counted_not_characters() -> None:
    assert table([("日本", "x"), ("e\u0301", "y"), ("abc", "z")]) == ["日本  x", "e\u0301     y", "abc   z"]


def test_a_last_column_goes_on_below_itself_where_there_is_no_more_room() -> None:
    says = "no model is configured: add one to your settings"
    assert table([("deep model", says), ("git", "2.39")], room=40) == [
        "deep model  no model is configured: add",
        "            one to your settings",
        "git         2.39",
    ]


def test_a_word_longer_than_the_room_stays_whole_and_too_little_room_is_left_to_the_terminal() -> None:
    address = "https://example.com/" + "x" * 40
    assert table([("at", f"see {address} now")], room=40) == ["at  see", f"    {address}", "    now"]
    assert table([("n" * 30, "one two three four five six")], room=40) == [f"{'n' * 30}  one two three four five six"]


words = st.text(st.sampled_from("ab日é "), max_size=30)


@given(st.lists(st.tuples(words, words), min_size=1), st.integers(0, 90))
def test_nothing_is_lost_by_folding(rows: list[tuple[str, str]], room: int) -> None:
    folded = table(rows, room=room)
    assert "".join("".join(folded).split()) == "".join("".join(a + b for a, b in rows).split())
    wide = max(cells(a) for a, _ in rows) + 2
    longest = max((cells(word) for _, b in rows for word in b.split(" ")), default=0)
    assert room - wide < 24 or all(cells(line) <= max(room, wide + longest) for line in folded)
