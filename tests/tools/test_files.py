"""Read, Edit and Write on real files: exact to the byte."""

import os
import resource
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.domain.edits.file_diff import FileDiff, file_diff
from quintet.tools.files import MOST_SHOWN
from tests.tools.calling import Caller


def after_edit(tools: Caller, data: bytes, old: str, new: str, **options: bool) -> bytes:
    path = tools.root / "file.txt"
    path.write_bytes(data)
    tools.ok("Read", file_path="file.txt")
    tools.ok("Edit", file_path="file.txt", old_string=old, new_string=new, **options)
    return path.read_bytes()


# ── Read


def test_lines_are_numbered_from_one_with_a_tab_after_the_number(tools: Caller) -> None:
    (tools.root / "three.txt").write_text("one\n\tindented\nlast")
    assert tools.ok("Read", file_path="three.txt") == "1\tone\n2\t\tindented\n3\tlast"


def test_a_part_of_a_file_says_how_to_go_on(tools: Caller) -> None:
    (tools.root / "many.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    shown = tools.ok("Read", file_path="many.txt", offset=3, limit=2)
    assert shown == "3\tline 3\n4\tline 4\n(6 more lines; continue with offset=5)"


def test_what_is_shown_at_once_is_bounded_and_says_how_to_go_on(tools: Caller) -> None:
    (tools.root / "wide.txt").write_text("".join("x" * 1900 + "\n" for _ in range(1500)))
    shown = tools.ok("Read", file_path="wide.txt")
    assert len(shown) < MOST_SHOWN + 100
    told = shown.count("\t")
    assert shown.endswith(f"({1500 - told} more lines; continue with offset={told + 1})")
    assert tools.ok("Read", file_path="wide.txt", offset=1500) == "1500\t" + "x" * 1900


def test_a_large_file_is_read_off_the_loop(tools: Caller) -> None:
    """The watchdog of the tests sees what holds the loop up."""
    (tools.root / "large.txt").write_text("a line of a long log\n" * 2_000_000)
    assert tools.ok("Read", file_path="large.txt", offset=2_000_000) == "2000000\ta line of a long log"


def test_an_absolute_path_inside_the_project_is_the_same_file(tools: Caller) -> None:
    assert tools.ok("Read", file_path=str(tools.root / "tally/count.py")).startswith("1\tdef words")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"", "(an empty file)"),
        (b"\xef\xbb\xbfbom\r\ncrlf\r\n", "1\tbom\n2\tcrlf"),
        (b"caf\xe9\n", "1\tcaf\ufffd"),
        (b"a\x0cb\xe2\x80\xa8c\n", "1\ta\x0cb\u2028c"),
        (b"\x89PNG\0\0\0", "odd: a binary file of 7 bytes"),
    ],
    ids=["empty", "bom and crlf", "not utf-8", "form feed and line separator", "binary"],
)
def test_what_is_in_the_file_is_shown_as_one_numbered_text(tools: Caller, data: bytes, shown: str) -> None:
    (tools.root / "odd").write_bytes(data)
    assert tools.ok("Read", file_path="odd") == shown


def test_a_very_long_line_is_cut_and_its_length_said(tools: Caller) -> None:
    (tools.root / "long.txt").write_text("x" * 5000 + "\nshort\n")
    first, second = tools.ok("Read", file_path="long.txt").splitlines()
    assert first.endswith("… (5000 characters)")
    assert second == "2\tshort"


def test_a_missing_file_is_named_in_the_error(tools: Caller) -> None:
    assert tools.fails("Read", file_path="absent.txt") == "absent.txt: No such file or directory"


@pytest.mark.parametrize(
    ("missing", "near"),
    [
        ("count.py", "tally/count.py"),
        ("tally/cuont.py", "tally/count.py"),
        ("src/tally/count.py", "tally/count.py"),
        ("tests/TEST_COUNT.PY", "tests/test_count.py"),
    ],
)
def test_a_missing_file_comes_with_those_that_may_be_meant(tools: Caller, missing: str, near: str) -> None:
    said = tools.fails("Read", file_path=missing)
    assert said.startswith(f"{missing}: No such file or directory; similar: {near}")
    assert tools.fails("Edit", file_path=missing, old_string="a", new_string="b") == said


def test_nothing_hidden_secret_or_foreign_is_named_as_near(tools: Caller) -> None:
    for path in (".cache/deploy.py", "node_modules/x/deploy.py", "keys/id_rsa", "a/deploy.key"):
        (tools.root / path).parent.mkdir(parents=True, exist_ok=True)
        (tools.root / path).write_text("x")
    (tools.root / "out").symlink_to("/etc")
    assert tools.fails("Read", file_path="deploy.py") == "deploy.py: No such file or directory"
    assert "near" not in tools.fails("Read", file_path="passwd")
    assert "near" not in tools.fails("Read", file_path="id_rsb")


# ── Edit keeps what it was not asked to change


def test_an_edit_of_several_lines_keeps_the_files_own_line_ends(tools: Caller) -> None:
    assert after_edit(tools, b"a\r\nb\r\nc\r\n", "a\nb", "A\nB\nB2") == b"A\r\nB\r\nB2\r\nc\r\n"


@pytest.mark.parametrize(("old", "new"), [("b\nc", "B\nC"), ("a\nb", "A\nB")])
def test_an_edit_finds_what_was_shown_in_a_file_of_mixed_line_ends(tools: Caller, old: str, new: str) -> None:
    edited = after_edit(tools, b"a\r\nb\nc\n", old, new)
    assert edited.replace(b"\r\n", b"\n") == b"a\nb\nc\n".replace(old.encode(), new.encode())


def test_an_edit_of_the_first_line_keeps_the_byte_order_mark(tools: Caller) -> None:
    assert after_edit(tools, b"\xef\xbb\xbffirst\n", "first", "1st") == b"\xef\xbb\xbf1st\n"


def test_an_edit_adds_no_newline_at_the_end_of_a_file(tools: Caller) -> None:
    assert after_edit(tools, b"a\nb", "b", "B") == b"a\nB"


def test_an_edit_leaves_bytes_that_are_no_text_as_they_are(tools: Caller) -> None:
    assert after_edit(tools, b"caf\xe9 one\ncaf\xe9 two\n", "two", "three") == b"caf\xe9 one\ncaf\xe9 three\n"


def test_what_an_edit_says_of_bytes_that_are_no_text_can_be_written_to_a_journal(tools: Caller) -> None:
    (tools.root / "latin.txt").write_bytes(b"caf\xe9 one\n")
    tools.ok("Read", file_path="latin.txt")
    said = tools.ok("Edit", file_path="latin.txt", old_string="one", new_string="two")
    assert "two" in said
    said.encode()


def test_an_edit_keeps_the_files_access_bits(tools: Caller) -> None:
    script = tools.root / "run.sh"
    script.write_text("echo old\n")
    script.chmod(0o751)
    tools.ok("Read", file_path="run.sh")
    tools.ok("Edit", file_path="run.sh", old_string="old", new_string="new")
    assert stat.S_IMODE(script.stat().st_mode) == 0o751


def test_an_edit_through_a_link_changes_the_file_and_keeps_the_link(tools: Caller) -> None:
    (tools.root / "docs").mkdir()
    (tools.root / "docs/real.md").write_text("old\n")
    link = tools.root / "link.md"
    link.symlink_to("docs/real.md")
    tools.ok("Read", file_path="link.md")
    tools.ok("Edit", file_path="link.md", old_string="old", new_string="new")
    assert (tools.root / "docs/real.md").read_text() == "new\n"
    assert link.is_symlink()
    assert os.readlink(link) == "docs/real.md"


@pytest.mark.parametrize(
    "name", ["plain.txt", "a name with spaces.txt", "-rf", "名" * 80 + ".py", "ünïcode.md"], ids=len
)
def test_a_file_of_any_name_is_edited_and_nothing_else_appears(tools: Caller, name: str) -> None:
    folder = tools.root / "names"
    folder.mkdir()
    (folder / name).write_text("old\n")
    tools.ok("Read", file_path=f"names/{name}")
    tools.ok("Edit", file_path=f"names/{name}", old_string="old", new_string="new")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {name: "new\n"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.binary(max_size=60).filter(lambda data: b"\0" not in data),
    behind=st.binary(max_size=60).filter(lambda data: b"\0" not in data),
    new=st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20),
)
def test_an_edit_changes_the_named_text_and_not_one_byte_more(
    tools: Caller, before: bytes, behind: bytes, new: str
) -> None:
    if new == "<needle>" or (before + behind).count(b"<needle>"):
        return
    edited = after_edit(tools, before + b"<needle>" + behind, "<needle>", new)
    assert edited == before + new.encode() + behind


# ── Edit refuses what it cannot do exactly


def test_a_file_must_be_read_before_it_is_edited(tools: Caller) -> None:
    said = tools.fails("Edit", file_path="tally/count.py", old_string="words", new_string="tokens")
    assert said == "tally/count.py: read it first, then edit"


def test_a_file_that_changed_since_it_was_read_is_not_edited(tools: Caller) -> None:
    path = tools.root / "tally/count.py"
    tools.ok("Read", file_path="tally/count.py")
    path.write_text("def words() -> None: ...\n")
    said = tools.fails("Edit", file_path="tally/count.py", old_string="words", new_string="tokens")
    assert said == "tally/count.py: it has changed since it was read; read it again"
    assert path.read_text() == "def words() -> None: ...\n"


def test_one_edit_may_follow_another_without_reading_again(tools: Caller) -> None:
    after_edit(tools, b"one two\n", "one", "1")
    tools.ok("Edit", file_path="./file.txt", old_string="two", new_string="2")
    assert (tools.root / "file.txt").read_bytes() == b"1 2\n"


def test_text_that_occurs_several_times_is_counted_and_left_alone(tools: Caller) -> None:
    (tools.root / "twice.txt").write_text("a b a b a\n")
    tools.ok("Read", file_path="twice.txt")
    said = tools.fails("Edit", file_path="twice.txt", old_string="a", new_string="x")
    assert "occurs 3 times" in said
    assert "replace_all" in said
    assert (tools.root / "twice.txt").read_text() == "a b a b a\n"


def test_replace_all_replaces_every_occurrence(tools: Caller) -> None:
    assert after_edit(tools, b"a b a b a\n", "a", "x", replace_all=True) == b"x b x b x\n"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [("absent", "x", "does not occur"), ("same", "same", "must differ"), ("", "x", "must not be empty")],
)
def test_an_edit_that_cannot_be_meant_says_why(tools: Caller, old: str, new: str, why: str) -> None:
    (tools.root / "file.txt").write_text("same\n")
    tools.ok("Read", file_path="file.txt")
    assert why in tools.fails("Edit", file_path="file.txt", old_string=old, new_string=new)
    assert (tools.root / "file.txt").read_text() == "same\n"


def test_an_edit_reports_the_file_and_its_diff(tools: Caller) -> None:
    tools.ok("Read", file_path="tally/count.py")
    result = tools("Edit", file_path="tally/count.py", old_string="def words", new_string="def tokens")
    assert result.changed == ("tally/count.py",)
    assert result.summary == "+1 −1"
    assert "-def words(text: str) -> int:\n+def tokens(text: str) -> int:" in result.content


def test_a_huge_change_is_told_briefly_and_compared_off_the_loop(
    tools: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = "".join(f"{number % 120}\n" for number in range(20_000))
    after = "".join(f"{number * 7 % 120}\n" for number in range(20_000))
    (tools.root / "huge.txt").write_text(before)
    threads: list[int] = []

    def compared(*arguments: Any) -> FileDiff:
        threads.append(threading.get_ident())
        return file_diff(*arguments)

    monkeypatch.setattr("quintet.tools.files.file_diff", compared)
    result = tools("Write", file_path="huge.txt", content=after)
    assert len(result.content) < 5000
    assert result.content.endswith("more lines of the diff; in all +19999 −19999)")
    assert result.summary == "+19999 −19999"
    assert threads and threading.get_ident() not in threads


def test_what_a_new_file_holds_is_not_told_back_whole(tools: Caller) -> None:
    content = "".join(f"line {number}\n" for number in range(5000))
    result = tools("Write", file_path="new.txt", content=content)
    assert result.summary == "+5000 −0"
    assert result.content.startswith("--- a/new.txt\n+++ b/new.txt\n@@ -0,0 +1,5000 @@\n+line 0\n")
    assert len(result.content) < 5000


# ── Write


@pytest.mark.parametrize("content", ["", "no newline", "crlf\r\nkept\r\n", "\ufeffbom\n", "tab\there\n\n\n"])
def test_write_writes_exactly_the_content_it_was_given(tools: Caller, content: str) -> None:
    tools.ok("Write", file_path="new.txt", content=content)
    assert (tools.root / "new.txt").read_bytes() == content.encode()


def test_write_makes_the_folders_and_follows_the_umask(tools: Caller) -> None:
    before = os.umask(0o027)
    try:
        tools.ok("Write", file_path="deep/er/new.txt", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tools.root / "deep/er/new.txt").stat().st_mode) == 0o640


def test_write_in_place_of_a_file_keeps_its_access_bits(tools: Caller) -> None:
    path = tools.root / "run.sh"
    path.write_text("old")
    path.chmod(0o755)
    tools.ok("Write", file_path="run.sh", content="new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_a_file_that_was_written_may_be_edited_at_once(tools: Caller) -> None:
    tools.ok("Write", file_path="new.txt", content="old\n")
    tools.ok("Edit", file_path="new.txt", old_string="old", new_string="new")
    assert (tools.root / "new.txt").read_text() == "new\n"


def test_a_write_that_fails_leaves_nothing_behind(tools: Caller, tmp_path: Path) -> None:
    before = sorted(path.name for path in tools.root.rglob("*"))
    assert "tally" in tools.fails("Write", file_path="tally", content="x")
    assert tools.fails("Write", file_path="tally/count.py/below.txt", content="x")
    assert sorted(path.name for path in tools.root.rglob("*")) == before


def test_write_of_what_is_there_already_is_no_change(tools: Caller) -> None:
    tools("Write", file_path="same.txt", content="a\n")
    before = (tools.root / "same.txt").stat().st_mtime_ns
    again = tools("Write", file_path="same.txt", content="a\n")
    assert (again.changed, again.content) == ((), "nothing changed: same.txt already has this content")
    assert (tools.root / "same.txt").stat().st_mtime_ns == before
    assert tools("Write", file_path="empty.txt", content="").changed == ("empty.txt",)


def test_a_write_that_fails_names_the_users_file_and_leaves_nothing_beside_it(tools: Caller) -> None:
    files = tools.toolbox.outside._bench.files
    files.replace("tally/large.txt", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # the disk is full for whatever is longer
    try:
        with pytest.raises(OSError, match="too large") as caught:
            files.replace("tally/large.txt", b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == "tally/large.txt"
    assert (tools.root / "tally/large.txt").read_bytes() == b"old"
    assert not list((tools.root / "tally").glob(".quintet-*"))
