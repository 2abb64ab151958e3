"""Where a path leads: as the operating system says, and never an exception."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.adapters.files import real_path as module
from quintet.adapters.files.real_path import real_path

PARTS = st.lists(st.sampled_from(["a", "b", "l", "m", "loop", "up", "..", ".", "", "none"]), max_size=6)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree").resolve()
    (root / "a/b").mkdir(parents=True)
    (root / "l").symlink_to("a")
    (root / "a/m").symlink_to(root / "l/b")
    (root / "a/b/up").symlink_to("../..")
    return root


@given(parts=PARTS)
def test_step_by_step_it_is_what_python_says(tree: Path, parts: list[str]) -> None:
    path = "/".join([str(tree), *parts])
    assert module._step_by_step(path) == os.path.realpath(path)


def test_a_link_that_may_not_be_read_leads_to_itself(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = os.readlink
    closed = str(tree / "a/m")

    def readlink(path: str) -> str:
        if path == closed:
            raise PermissionError(13, "Permission denied", path)
        return read(path)

    monkeypatch.setattr(os, "readlink", readlink)
    with pytest.raises(PermissionError):
        os.path.realpath(f"{tree}/l/m/x")
    assert real_path(f"{tree}/l/m/x") == f"{closed}/x"


def test_a_link_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert module._step_by_step(str(tmp_path / "loop/x")).endswith("/loop/x")
