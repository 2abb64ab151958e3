"""Patches as models write them: what they change, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.safe_text import patched_files
from quintet.domain.edits.edit import patched
from quintet.domain.edits.patch import parse

FILE = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n"

ENVELOPE = """*** Begin Patch
*** Update File: a.py
@@ class B:
     def f(self):
-        return 1
+        return 2
*** Add File: docs/new.md
+# New
+
+text
*** End Patch"""

UNIFIED = """diff --git a/a.py b/a.py
index 1234567..89abcde 100644
--- a/a.py
+++ b/a.py
@@ -7,2 +7,3 @@ class B:
     def f(self):
-        return 1
+        x = 2
+        return x
--- /dev/null
+++ b/docs/new.md
@@ -0,0 +1,2 @@
+# New
+text
"""


def after(patch: str, text: str = FILE) -> str:
    return patched(text, parse(patch)[0]).text


def test_an_envelope_changes_and_adds_files() -> None:
    change, new = parse(ENVELOPE)
    assert (change.path, new.path, new.added) == ("a.py", "docs/new.md", "# New\n\ntext\n")
    assert patched(FILE, change).text == FILE[:-2] + "2\n"


def test_a_unified_diff_changes_and_adds_files() -> None:
    change, new = parse(UNIFIED)
    assert (change.path, new.path, new.added) == ("a.py", "docs/new.md", "# New\ntext\n")
    assert patched(FILE, change).text == FILE.removesuffix("        return 1\n") + "        x = 2\n        return x\n"


def test_a_hunk_that_fits_two_places_and_names_neither_changes_nothing() -> None:
    with pytest.raises(ToolFailed, match=r"hunk 1 of 1: .* 2 places are similar, lines 2–3, 7–8"):
        after("*** Update File: a.py\n@@\n     def f(self):\n-        return 1\n+        return 2\n")


def test_a_line_that_is_not_the_hunks_does_not_choose_between_places() -> None:
    with pytest.raises(ToolFailed, match="2 places"):
        after("--- a/a.py\n+++ b/a.py\n@@ -5,2 +5,2 @@\n     def f(self):\n-        return 1\n+        return 2\n")


def test_hunks_stand_in_order_and_lines_are_counted_as_they_move() -> None:
    made = after(
        "--- a/a.py\n+++ b/a.py\n@@ -2,2 +2,3 @@\n     def f(self):\n+        more()\n         return 1\n"
        "@@ -7,2 +8,2 @@\n     def f(self):\n-        return 1\n+        return 2\n"
    )
    assert made == FILE.replace("return 1", "more()\n        return 1", 1)[:-2] + "2\n"


def test_a_hunk_is_as_tolerant_as_an_edit_and_says_so() -> None:
    made = patched("if a:\r\n\tb()  \r\n", parse("*** Update File: a.py\n@@\n if a:\n-    b()\n+    c()\n")[0])
    assert made.text == "if a:\r\n\tc()\r\n"
    assert made.notes == ("hunk 1 matched with different indentation, lines 1–2",)


def test_a_bad_hunk_shows_the_nearest_lines() -> None:
    with pytest.raises(ToolFailed, match="Most similar: lines") as failed:
        after("*** Update File: a.py\n@@\n class A:\n-    def g(self):\n+    def h(self):\n")
    assert "2\t    def f(self):" in str(failed.value)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("*** Begin Patch\n*** Delete File: a.py\n*** End Patch", "fs_delete"),
        ("*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n", "fs_move"),
        ("--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "fs_delete"),
        ("diff --git a/a.py b/b.py\nrename from a.py\nrename to b.py\n", "fs_move"),
        ("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", "file permissions"),
        ("*** Update File: a.py\n@@\n x\n", "changes nothing"),
        ("*** Update File: a.py\n", "no hunk"),
        ("*** Update File: a.py\n@@\n-x\n+y\n*** Update File: a.py\n@@\n-z\n+y\n", "two sections"),
        ("please change a.py", "is not valid in a patch"),
        ("", "names no file"),
        ("*** Update File: a.py\n@@\nx = 1\n-y\n+z\n", "begins with 'x'"),
        ("*** Add File: a.py\ntext\n", "begins with \\+"),
    ],
)
def test_what_a_patch_does_not_do_is_said(patch: str, why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        parse(patch)


def test_a_hunk_that_only_adds_wants_a_line_beside_it() -> None:
    with pytest.raises(ToolFailed, match="only adds lines"):
        after("*** Update File: a.py\n@@\n+x\n")
    assert after("*** Update File: a.py\n@@\n+x\n", text="") == "x\n"


@given(
    st.lists(st.sampled_from([*ENVELOPE.splitlines(), *UNIFIED.splitlines(), "", "x", "+++ c", "--- d"]), max_size=12)
)
def test_every_file_that_a_patch_writes_is_among_those_shown(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        paths = [patch.path for patch in parse(text)]
    except ToolFailed:
        return
    assert set(paths) <= set(patched_files(text).split())


def test_a_hunk_whose_lines_stand_under_something_else_changes_nothing() -> None:
    file = "def admin():\n    return True\n\n\ndef safe():\n    return check(user)\n"
    hunk = "@@ def admin():\n-    return check(user)\n+    return True\n"
    patch = f"*** Begin Patch\n*** Update File: a.py\n{hunk}*** End Patch"
    for text in (patch, patch.replace("def admin():", "def gone():")):
        (one,) = parse(text)
        with pytest.raises(ToolFailed, match="not under def"):
            patched(file, one)
    (right,) = parse(patch.replace("def admin():", "def safe():"))
    assert patched(file, right).text.count("return True") == 2
