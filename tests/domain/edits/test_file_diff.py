"""The diff of a change: what difflib says, within bounds."""

from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.edits.file_diff import MOST_LINES, file_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  d"]), max_size=30)


def applied(before: list[str], diff: str) -> list[str]:
    """The old lines with the hunks of a diff carried out."""
    made, at = [], 0
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            start, _, length = line.split()[1][1:].partition(",")
            first = int(start) - (0 if length == "0" else 1)
            made += before[at:first]
            at = first
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert before[at] == line[1:]
            made += [line[1:]] if line[0] == " " else []
            at += 1
    return made + before[at:]


@given(LINES, LINES)
def test_the_diff_makes_the_new_lines_of_the_old_ones_and_counts_them(before: list[str], after: list[str]) -> None:
    diff = file_diff("f", "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after), 100_000)
    assert applied(before, diff.text) == after
    assert diff.added - diff.removed == len(after) - len(before)
    assert diff.left_out == 0 and (diff.text != "") == (before != after)


def test_a_small_diff_is_that_of_difflib() -> None:
    before = [f"line {number}" for number in range(40)]
    after = [*before[:5], "new", *before[6:20], *before[24:39], "end", "more"]
    wanted = unified_diff(before, after, "a/f", "b/f", lineterm="", n=2)
    assert file_diff("f", "\n".join(before), "\n".join(after), 100_000).text == "\n".join(wanted)


def test_the_text_is_bounded_in_lines_and_in_columns_and_the_counts_are_whole() -> None:
    diff = file_diff("f", "", "x" * 10_000 + "\n" + "y\n" * 5000, 1000)
    assert len(diff.text) <= 1000
    assert "… (10000 characters)" in diff.text
    assert (diff.added, diff.removed) == (5001, 0)
    assert diff.left_out == 5001 + 3 - len(diff.text.splitlines())


def test_lines_too_many_to_compare_are_all_removed_and_added() -> None:
    before = "first\n" + "".join(f"{number % 120}\n" for number in range(MOST_LINES)) + "last\n"
    after = "first\n" + "".join(f"{number * 7 % 120}!\n" for number in range(MOST_LINES)) + "last\n"
    diff = file_diff("f", before, after, 1000)
    assert (diff.added, diff.removed) == (MOST_LINES, MOST_LINES)
    assert diff.text.splitlines()[:4] == [
        "--- a/f",
        "+++ b/f",
        f"@@ -1,{MOST_LINES + 2} +1,{MOST_LINES + 2} @@",
        " first",
    ]


def test_a_line_changed_in_a_huge_file_is_compared_exactly() -> None:
    lines = [f"{number % 120}" for number in range(100_000)]
    changed = [*lines[:50_000], "changed", *lines[50_001:]]
    diff = file_diff("f", "\n".join(lines), "\n".join(changed), 4000)
    assert (diff.added, diff.removed, diff.left_out) == (1, 1, 0)
