"""Machines that share a database: each a clone with a home of its own, or a home alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.surfaces.forked import PROGRAM
from tests.surfaces.program import SECONDS, Done, Program, env


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


class ApartMachine(Machine):
    """A machine with a network, processes and a name of its own: of another one it sees the files alone, and nothing of
    its processes. The server is reached by its socket."""

    def __init__(self, root: Path, home: Path, database: str, name: str) -> None:
        super().__init__(root, home, database)
        user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
        spaces = ("--net", "--pid", "--uts", "--mount")
        argv = ["unshare", *user, *spaces, "--mount-proc", "--fork", "--kill-child"]
        begin = f"hostname {name} && echo ready && exec sleep infinity"
        self._power = subprocess.Popen([*argv, "sh", "-c", begin], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._power.stdout and self._power.stderr
        if self._power.stdout.readline() != b"ready\n":
            pytest.skip(f"no namespaces here: {self._power.stderr.read().decode().strip()}")
        (first,) = Path(f"/proc/{self._power.pid}/task/{self._power.pid}/children").read_text().split()
        kept = ("--user", "--preserve-credentials") if user else ()
        self._enter = ("nsenter", "-t", first, *kept, *spaces, f"--wd={root}", "--")

    def run(self, *arguments: str, stdin: str | bytes = b"", **variables: str) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        around = env(self.own | variables)
        argv = [*self._enter, *PROGRAM, *arguments]
        done = subprocess.run(argv, cwd=self.root, input=data, capture_output=True, timeout=SECONDS, env=around)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        null, pipe = subprocess.DEVNULL, subprocess.PIPE
        argv = [*self._enter, *PROGRAM, *arguments]
        child = subprocess.Popen(
            argv, cwd=self.root, stdin=null, stdout=pipe, stderr=pipe, text=True, env=env(self.own | variables)
        )
        self._children.append(child)
        return child

    def switch_off(self) -> None:
        self._power.kill()
        self._power.communicate()

    def close(self) -> None:
        self.switch_off()
        super().close()


@pytest.fixture
def apart(repo: Path, tmp_path: Path, database: str) -> Iterator[tuple[ApartMachine, ApartMachine]]:
    """Two machines in namespaces of their own."""
    with contextlib.ExitStack() as ends:
        made = []
        for name in ("one", "two"):
            root = tmp_path / name / "clone"
            subprocess.run(["git", "clone", "-q", str(repo), str(root)], check=True)
            made.append(ApartMachine(root, tmp_path / name / "home", database, f"machine-{name}"))
            ends.callback(made[-1].close)
        yield made[0], made[1]


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
