"""Machines that share a database: each a clone with a home of its own, or a home alone."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.surfaces.program import SECONDS, Done, Program


class Machine(Program):
    """A clone with a home of its own, on a database that others use too."""

    def __init__(self, root: Path, home: Path, database: str) -> None:
        super().__init__(root)
        self.home = home
        folders = {"HOME": "", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"}
        self.own = {name: str(home / folder) for name, folder in folders.items()} | {"QUINTET_DATABASE": database}
        for folder in self.own.values():
            if folder.startswith("/"):
                Path(folder).mkdir(parents=True, exist_ok=True)

    def run(self, *arguments: str, stdin: str | bytes = b"", **variables: str) -> Done:
        return super().run(*arguments, stdin=stdin, **self.own, **variables)

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        return super().start(*arguments, **self.own, **variables)

    def set(self, text: str) -> None:
        """The user's own settings on this machine."""
        folder = self.home / "config" / "quintet"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.toml").write_text(text)


@pytest.fixture
def machines(repo: Path, tmp_path: Path, database: str) -> Iterator[tuple[Machine, Machine]]:
    shutil.copytree(repo / ".git", tmp_path / "team.git")
    made = []
    for name in ("one", "two"):
        root = tmp_path / name / "clone"
        subprocess.run(["git", "clone", "-q", str(tmp_path / "team.git"), str(root)], check=True)
        made.append(Machine(root, tmp_path / name / "home", database))
    yield made[0], made[1]
    for machine in made:
        machine.close()


def until(holds: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
