"""`quintet library add` takes in what was named, and nothing that a link of the project leads to elsewhere."""

from pathlib import Path

import pytest

from tests.attacks.world import put
from tests.surfaces.program import Program

DIARY = "canary-of-a-diary"


@pytest.fixture
def quintet(repo: Path) -> Program:
    return Program(repo)


def test_a_link_out_of_the_folder_is_left_out_and_said(quintet: Program, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside/diary.txt", DIARY).parent
    docs = quintet.root / "docs"
    put(docs / "real.txt", "a page of the project")
    (docs / "guide.txt").symlink_to(outside / "diary.txt")
    (docs / "more").symlink_to(outside)
    (docs / "same.txt").symlink_to("real.txt")
    put(quintet.root / "notes.txt", "beside it")
    (docs / "beside.txt").symlink_to("../notes.txt")
    done = quintet.run("library", "add", "docs")
    assert "guide.txt: a link that leads out of docs" in done.err
    assert "beside.txt: a link that leads out of docs" in done.err
    assert "same.txt" not in done.err
    assert "no page contains" in quintet.run("library", "search", DIARY).out
    assert "real.txt" in quintet.run("library", "list").out


def test_a_folder_of_the_project_that_is_itself_a_link_out_of_it_is_left_out(quintet: Program, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside/diary.txt", DIARY).parent
    (quintet.root / "docs").symlink_to(outside)
    (quintet.root / "guide.txt").symlink_to(outside / "diary.txt")
    done = quintet.run("library", "add", "docs", "guide.txt", "docs/diary.txt")
    assert done.err.count("a link that leads out of the project") == 3
    assert quintet.run("library", "list", "--json").out.strip() == "[]"
    assert quintet.run("library", "add", str(outside)).code == 0  # the user names it
