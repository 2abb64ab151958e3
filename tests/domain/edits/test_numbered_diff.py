"""A diff with line numbers: each number is that of the line in the file it is from."""

from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.edits.numbered_diff import numbered, numbered_files

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


def test_several_files_stand_under_their_names_with_what_is_said_of_them() -> None:
    changes = "(fitted the indentation)\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-- a\n++ b\n--- a/y\n+++ b/y\n@@ -3,0 +4 @@\n+c"
    assert numbered_files(changes) == ["(fitted the indentation)", "x", "- 1  - a", "+ 1  + b", "y", "+ 4  c"]
    assert numbered_files("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b") == ["- 1  a", "+ 1  b"]
    assert numbered_files("gone.py deleted") == ["gone.py deleted"]


def test_where_lines_are_missing_no_number_is_made_up() -> None:
    cut = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n[… 5 lines left out]\n-b\n+c\n@@ -20 +20 @@\n-d\n+e"
    kept = ["   1  a", "[… 5 lines left out]", "-     b", "+     c", "  ⋯", "- 20  d", "+ 20  e"]
    assert numbered_files(cut) == kept
