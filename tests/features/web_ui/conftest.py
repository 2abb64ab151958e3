"""Servers: one for all tests of a file, and one that a test may spoil."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import FOLDERS
from tests.features.web_ui.serving import Web, serving
from tests.surfaces.program import Program


@pytest.fixture(scope="module")
def web(first_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """One server for all of them, in a home of its own."""
    folder = tmp_path_factory.mktemp("web")
    repo = folder / "repo"
    shutil.copytree(first_repo, repo)
    with pytest.MonkeyPatch.context() as patch:
        for name, place in FOLDERS.items():
            (folder / place).mkdir()
            patch.setenv(name, str(folder / place))
        program = Program(repo)
        with serving(program, "--viewer-token") as started:
            yield started
        program.close()


@pytest.fixture
def own_web(quintet: Program) -> Iterator[Web]:
    """A server that a test may spoil."""
    with serving(quintet) as started:
        yield started
