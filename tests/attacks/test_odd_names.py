"""Names that are too long, of several lines, or no text at all."""

import os
from pathlib import Path

import pytest

from quintet.adapters.protected.moved_aside import move_aside
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.gate import Sandbox
from tests.attacks.test_sandbox_reach import Inside
from tests.attacks.world import put
from tests.surfaces.program import Program


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("ending", [".code-workspace", ".sublime-project"])
def test_a_name_as_long_as_there_can_be_is_moved_aside(repo: Path, ending: str) -> None:
    name = "L" * (255 - len(ending)) + ending
    inside = Inside(repo, Sandbox.BWRAP)
    done = inside(f"echo x > {name}; echo x > {'é' * 100}{ending}")
    assert [entry for entry in os.listdir(repo) if entry.endswith(ending)] == []
    assert done.notes
    assert not any("could not" in note for note in done.notes), done.notes


def test_where_nothing_can_be_moved_away_it_gets_a_short_name_beside(tmp_path: Path) -> None:
    name = "x" * 240 + ".code-workspace"
    put(tmp_path / "p" / name, "x")
    (tmp_path / "store").mkdir()
    os.chmod(tmp_path / "store", 0o700)
    moved = move_aside(str(tmp_path / "p"), str(tmp_path / "p" / name), str(tmp_path / "store"))
    assert Path(moved).read_text() == "x"
    assert not (tmp_path / "p" / name).exists()


SURFACES = (
    *(("status",), ("status", "--json"), ("trust",), ("trust", "--list"), ("trust", "--check"), ("settings",)),
    *(("-p", "hello"), ("--plain",), ("doctor",), ("tasks",), ("sessions", "list"), ("rewind",), ("mcp", "list")),
    *(("rules", "list"), ("mcp-server",), ("trust", "--revoke"), ()),
)


def test_a_project_whose_path_is_not_text_is_told_so_on_every_surface(tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/w\xff\x1b[2J\nx"))
    put(root / ".quintet/settings.toml", "")
    for words in SURFACES:
        done = Program(root).run(*words)
        assert done.code == 2, (words, done)
        assert "not UTF-8" in done.err, (words, done)
        assert not [word for word in ("Traceback", "\x1b[2J", "\nx") if word in done.err], (words, done)
    below = root.parent / os.fsdecode(b"ok/sub\xff")
    below.mkdir(parents=True)
    (root.parent / "ok/.git").mkdir()
    Program(below).run("status").clean(0)


def test_a_line_break_in_the_name_of_a_folder_writes_no_line(tmp_path: Path) -> None:
    root = tmp_path / "a\nb\x1b[2J"
    put(root / ".quintet/tools/t.py", "")
    for words in SURFACES[:6]:
        done = Program(root).run(*words)
        assert "a\nb" not in done.out + done.err, (words, done)
        assert "\x1b[2J" not in done.out + done.err, (words, done)
    assert "a\nb" not in Program(root).run("-p", "hello").err
    assert on_one_line("a\nb\tc\x1b") == "a␊b␉c␛"
