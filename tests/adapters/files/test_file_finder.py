"""Files by a few letters: what is listed, when it is listed anew, and the search without the fast matcher."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.adapters.files import file_finder
from quintet.adapters.files.file_finder import FileListing, ProjectFinder, files_below
from quintet.app.machine_parts import find_ripgrep


@pytest.fixture
def tree(repo: Path) -> Path:
    (repo / ".gitignore").write_text("*.log\nbuild/\n")
    for name in ("x.log", "build/out.py", ".hidden/kept.py", "größe.md", "with space.txt"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text("")
    return repo


LISTED = {
    ".gitignore",
    ".hidden/kept.py",
    "größe.md",
    "tally/__init__.py",
    "tally/count.py",
    "tests/__init__.py",
    "tests/test_count.py",
    "with space.txt",
}


@pytest.mark.parametrize("ripgrep", [find_ripgrep(), "no-such-program"])
def test_every_file_that_git_does_not_ignore_by_ripgrep_or_else_by_git(tree: Path, ripgrep: str) -> None:
    assert set(files_below(str(tree), ripgrep)) == LISTED


def test_without_either_the_folder_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (tmp_path / "plain" / "a").mkdir(parents=True)
    (tmp_path / "plain" / "a" / "b.txt").write_text("")
    assert files_below(str(tmp_path / "plain"), "no-such-program") == ["a/b.txt"]


def test_names_that_cannot_be_typed_are_left_out(tree: Path) -> None:
    (tree / "two\nlines").write_text("")
    (tree / "\x1b[31m").write_text("")
    (Path(os.fsdecode(os.fsencode(tree) + b"/\xff"))).write_text("")
    assert set(files_below(str(tree), find_ripgrep())) == LISTED


def test_an_empty_folder_has_no_files(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    finder = ProjectFinder(str(tmp_path / "empty"), find_ripgrep())
    assert asyncio.run(finder.find("", 8)) == []
    assert asyncio.run(finder.find("a", 8)) == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("count", ["tally/count.py", "tests/test_count.py"]),
        ("tct", ["tests/test_count.py"]),
        ("tal/co", ["tally/count.py"]),
        ("SPACE", []),
        ("", [".gitignore", "größe.md", "with space.txt"]),
    ],
)
def test_the_search_with_and_without_the_fast_matcher(tree: Path, query: str, found: list[str]) -> None:
    fast = FileListing(str(tree), files_below(str(tree), find_ripgrep()))
    assert fast.find(query, 3)[: len(found) or None] == found
    slow = FileListing(str(tree), fast.paths)
    slow._fast = None
    assert slow.find(query, 3)[: len(found) or None] == found


def test_without_the_fast_matcher_installed_files_are_found_all_the_same(tree: Path) -> None:
    code = (
        "import sys, asyncio; sys.modules['frizbee'] = None\n"
        "from quintet.adapters.files.file_finder import ProjectFinder\n"
        f"print(asyncio.run(ProjectFinder({str(tree)!r}).find('tallyc', 8)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tally/count.py']"


def test_a_list_holds_while_no_folder_or_ignore_file_changed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_finder, "TRUSTED_SECONDS", 0.0)
    finder = ProjectFinder(str(tree), find_ripgrep())

    async def renewed() -> bool:
        return await finder.renewed()

    assert asyncio.run(finder.find("new", 8)) == []
    assert asyncio.run(renewed()) is False
    (tree / "tally" / "new.py").write_text("")
    assert asyncio.run(renewed()) is True
    assert asyncio.run(finder.find("new", 8)) == ["tally/new.py"]
    (tree / ".gitignore").write_text("new.py\n")
    os.utime(tree / ".gitignore", ns=(1, 1))
    assert asyncio.run(renewed()) is True
    assert asyncio.run(finder.find("new", 8)) == []


def test_a_tree_without_end_is_listed_up_to_a_limit(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_finder, "MOST_FILES", 3)
    assert len(files_below(str(tree), find_ripgrep())) == 3
