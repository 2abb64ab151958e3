"""What a question shows of a change: every line, with its number, as it will be made."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.edits.edit import Change
from quintet.domain.edits.preview import NEWLINE, NO_NEWLINE, differences, preview

FILES = {"a.py": "one\ntwo\nthree\nfour\nfive\nsix\n", "b.py": "def b():\n    return 1\n"}


def shown(path: str = "a.py", **arguments: object) -> list[str]:
    return preview(arguments, path, lambda name: FILES.get(name, ""))


def test_an_edit_is_shown_with_line_numbers_and_the_lines_around_it() -> None:
    want = ["  2  two", "  3  three", "- 4  four", "+ 4  4", "  5  five", "  6  six"]
    assert shown(old_string="four", new_string="4") == want


def test_several_edits_are_shown_as_the_file_they_leave() -> None:
    changes = (Change("one", "1"), Change("six", "6"))
    want = ["- 1  one", "+ 1  1", "  2  two", "  3  three", "  4  four", "  5  five", "- 6  six", "+ 6  6"]
    assert shown(edits=changes) == want


def test_a_written_file_is_shown_to_its_last_line() -> None:
    content = "".join(f"line {number}\n" for number in range(500))
    rows = shown("new.py", content=content)
    assert len(rows) == 500 and rows[-1] == "+ 500  line 499"


@pytest.mark.parametrize(
    "patch",
    [
        "*** Begin Patch\n*** Update File: b.py\n@@\n def b():\n-    return 1\n+    return 2\n*** End Patch",
        "--- a/b.py\n+++ b/b.py\n@@ -7,2 +7,2 @@\n def b():\n-    return 1\n+    return 2\n",
    ],
)
def test_a_patch_is_numbered_by_where_it_lands_and_not_by_what_it_says(patch: str) -> None:
    assert shown("", patch=patch) == ["  1  def b():", "- 2      return 1", "+ 2      return 2"]


def test_a_patch_of_two_files_names_them() -> None:
    patch = "--- a/b.py\n+++ b/b.py\n@@ -2 +2 @@\n-    return 1\n+    return 2\n"
    patch += "--- /dev/null\n+++ b/c.py\n@@ -0,0 +1 @@\n+x\n"
    rows = shown("", patch=patch)
    assert rows == ["b.py", "  1  def b():", "- 2      return 1", "+ 2      return 2", "c.py", "+ 1  x"]


def test_what_does_not_fit_the_file_is_shown_as_it_was_written() -> None:
    assert shown(old_string="nine", new_string="9\n10") == ["- nine", "+ 9", "+ 10"]
    patch = "no patch\nat all"
    assert shown("", patch=patch) == patch.split("\n")


def test_arguments_for_a_server_are_whole() -> None:
    rows = shown("", tool_args={"text": "x" * 5000})
    assert rows == ["{", f'  "text": "{"x" * 5000}"', "}"]


def test_a_change_of_the_last_newline_or_of_line_ends_is_not_nothing() -> None:
    assert differences("a\n", "a") == [NO_NEWLINE]
    assert differences("a", "a\n") == [NEWLINE]
    assert differences("a\nb\n", "a\r\nb\r\n") == ["- 1  a", "- 2  b", "+ 1  a\r", "+ 2  b\r"]
    assert differences("a\r\nb\r\n", "a\r\nc\r\n") == ["  1  a", "- 2  b", "+ 2  c"]


LINES = st.lists(st.sampled_from(["a", "b", "", "- c", "+ d", "@@ -1 +1 @@", "--- x", "+++ y", "\\ no"]), max_size=12)


@given(LINES, LINES)
def test_every_line_that_goes_or_comes_is_there(before: list[str], after: list[str]) -> None:
    rows = differences("".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after))

    def signed(sign: str) -> list[tuple[int, str]]:
        found = [re.fullmatch(r"(.) +(\d+)(?:  (.*))?", row) for row in rows]
        return [(int(row[2]), row[3] or "") for row in found if row and row[1] == sign]

    gone, come = signed("-"), signed("+")
    assert all(before[number - 1] == text for number, text in gone)
    assert all(after[number - 1] == text for number, text in come)
    left = [line for number, line in enumerate(before, 1) if number not in {n for n, _ in gone}]
    stays = [line for number, line in enumerate(after, 1) if number not in {n for n, _ in come}]
    assert left == stays
