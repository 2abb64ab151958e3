"""The fs_ tools: what they do, and that nothing leaves the project, is overwritten or is deleted whole."""

import os
from pathlib import Path

import pytest

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.gate import Verdict
from tests.tools.calling import Caller


def test_a_folder_is_made_listed_filled_moved_and_deleted(tools: Caller) -> None:
    assert tools.ok("fs_create_directory", path="data/raw") == "data/raw made"
    assert tools.ok("fs_create_directory", path="data/raw") == "data/raw already existed"
    tools.ok("fs_write_file", path="data/raw/a.csv", content="x,y\n1,2\n")
    assert tools.ok("fs_read_file", path="data/raw/a.csv") == "1\tx,y\n2\t1,2"
    assert tools.ok("fs_list_directory", path="data") == "raw/"
    assert tools.ok("fs_list_directory", path="data/raw") == "a.csv  8"
    tools.ok("fs_move", source="data/raw/a.csv", destination="data/done/b.csv")
    assert (tools.root / "data/done/b.csv").read_text() == "x,y\n1,2\n"
    assert tools.ok("fs_list_directory", path="data/raw") == "(an empty folder)"
    tools.ok("fs_delete", path="data/raw")
    tools.ok("fs_delete", path="data/done/b.csv")
    assert not (tools.root / "data/raw").exists()
    assert tools.ok("fs_list_directory", path="data/done") == "(an empty folder)"


def test_info_tells_kind_size_and_access(tools: Caller) -> None:
    file = tools.root / "run.sh"
    file.write_text("echo\n")
    file.chmod(0o755)
    said = tools.ok("fs_file_info", path="run.sh")
    assert "kind     file" in said and "size     5" in said and "access   755" in said
    assert "kind     folder" in tools.ok("fs_file_info", path="tally")


def test_moving_overwrites_nothing(tools: Caller) -> None:
    (tools.root / "a.txt").write_text("a")
    (tools.root / "b.txt").write_text("b")
    assert tools.fails("fs_move", source="a.txt", destination="b.txt") == "b.txt: already exists"
    assert (tools.root / "b.txt").read_text() == "b"


def test_only_a_file_or_an_empty_folder_is_deleted(tools: Caller) -> None:
    assert "not empty" in tools.fails("fs_delete", path="tally")
    assert (tools.root / "tally/count.py").exists()


def test_deleting_always_asks(tools: Caller) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    assert tools.verdict("fs_delete", axes, path="tally/count.py") is Verdict.ASK


def test_deleting_a_link_leaves_what_it_leads_to(tools: Caller, tmp_path: Path) -> None:
    (tmp_path / "away.txt").write_text("stay")
    (tools.root / "link").symlink_to(tmp_path / "away.txt")
    tools.ok("fs_delete", path="link")
    assert (tmp_path / "away.txt").read_text() == "stay"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("fs_list_directory", {"path": "link"}),
        ("fs_file_info", {"path": "link/x"}),
        ("fs_create_directory", {"path": "link/new"}),
        ("fs_delete", {"path": "link/x"}),
        ("fs_move", {"source": "link/x", "destination": "y"}),
        ("fs_move", {"source": "tally/count.py", "destination": "link/y"}),
        ("fs_list_directory", {"path": "../outside"}),
    ],
)
def test_no_fs_tool_leaves_the_project(tools: Caller, tmp_path: Path, tool: str, arguments: dict[str, str]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("x")
    (tools.root / "link").symlink_to(outside)
    assert "outside the project" in tools.fails(tool, **arguments)
    assert sorted(os.listdir(outside)) == ["x"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("fs_create_directory", {"path": "hooks/new"}),
        ("fs_delete", {"path": "hooks/pre-commit"}),
        ("fs_move", {"source": "hooks/pre-commit", "destination": "x"}),
        ("fs_move", {"source": "tally/count.py", "destination": "hooks/post-commit"}),
    ],
)
def test_a_link_leads_no_fs_tool_to_a_protected_path(tools: Caller, tool: str, arguments: dict[str, str]) -> None:
    hooks = tools.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text("as it was")
    before = sorted(os.listdir(hooks))
    (tools.root / "hooks").symlink_to(".git/hooks")
    assert "protected" in tools.fails(tool, **arguments)
    assert sorted(os.listdir(hooks)) == before
