"""A diff with line numbers: each number is that of the line in the file it is from."""

from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.edits.numbered_diff import numbered

LINES = st.lists(st.sampled_from(["a", "b", "- c", "+ d", "", "@@ -1 +1 @@", "--- x"]), max_size=12)


@given(LINES, LINES)
def test_every_number_is_the_one_of_its_file(old: list[str], new: list[str]) -> None:
    shown = numbered("\n".join(unified_diff(old, new, "a/x", "b/x", lineterm="")))
    gone = [line for line in shown if line.startswith("-")]
    come = [line for line in shown if line.startswith("+")]
    assert all(old[_number(line) - 1] == _text(line) for line in gone)
    assert all(new[_number(line) - 1] == _text(line) for line in come)
    assert len(come) - len(gone) == len(new) - len(old)


def _number(line: str) -> int:
    return int(line[2:].split()[0])


def _text(line: str) -> str:
    return line[2:].lstrip().partition("  ")[2] if "  " in line[2:].lstrip() else ""


def test_it_leaves_out_what_stands_before_the_first_hunk() -> None:
    assert numbered("--- a/x\n+++ b/x\n@@ -9,2 +9,3 @@\n a\n+b\n c") == ["   9  a", "+ 10  b", "  11  c"]
