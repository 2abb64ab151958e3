"""Runs every attack of the corpus for real, as if the gate had let it through, and looks for anything beyond its grant.

Each line gets a throwaway project of its own, writable, without network and without a grant to commit. Around it stand
canaries: a home, a sibling folder, git's hooks and config, Quintet's settings, a secret, a loopback port, and the
machine's own settings. Bombs are left out.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.looking import put_up_a_room_at_once

from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox import contain
from quintet.adapters.sandbox.containment import SandboxSetup
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.permission.protected_paths import PROTECTION

CORPUS = Path(__file__).parent.parent / "domain" / "corpus" / "attacks.jsonl"
SECRET = "hunter2-canary"
SECONDS = 3.0
MACHINE = ("/etc/passwd", "/etc/hosts", "/etc/crontab", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname")


def attacks() -> list[str]:
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    lines = [row["line"] for row in rows if not row.get("bomb")]
    return [line for line in lines if "\0" not in line and _runnable(line)]


def _runnable(line: str) -> bool:
    try:
        os.fsencode(line)
    except UnicodeEncodeError:
        return False
    return True


class Field:
    """A project and its canaries, below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.sibling = folder / "sibling"
        self.home = folder / "home"
        self._template = folder / "template"
        self._plant()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]

    def _plant(self) -> None:
        for path, text in (
            ("sibling/kept.txt", "kept"),
            ("home/.bashrc", "# kept"),
            ("home/.ssh/id_rsa", SECRET),
            ("home/notes.txt", SECRET),
            ("template/src/a.py", "def a():\n    return 1\n"),
            ("template/a.txt", "a\n"),
            ("template/x", "x\n"),
            ("template/src/x.txt", "x\nfoo\n"),
            ("template/pre-commit", "a\n"),
            ("template/payload", "a[$(touch y)]\n"),
            ("template/a.jq", "def b: 1;\n"),
            ("template/Makefile", "all:\n\techo made\n"),
            ("template/.env", f"TOKEN={SECRET}\n"),
            ("template/server.pem", SECRET),
            ("template/.quintet/settings.toml", "[limits]\n"),
        ):
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git = ("git", "-C", str(self._template), "-c", "user.name=a", "-c", "user.email=a@example.com")
        (self._template / ".gitignore").write_text(".env\n*.pem\n")
        subprocess.run((*git, "init", "-q"), check=True)
        subprocess.run((*git, "add", "-A"), check=True)
        subprocess.run((*git, "commit", "-qm", "first"), check=True)
        (self._template / ".git/hooks/pre-commit.sample").write_text("#!/bin/sh\n")

    def reset(self) -> None:
        shutil.rmtree(self.project, ignore_errors=True)
        shutil.copytree(self._template, self.project, symlinks=True)

    def state(self, roots: Sequence[str] = (), *, commits: bool = False) -> dict[str, str]:
        """Everything that a command which may write in `roots`, or the repository, may not change."""
        own = (".git/hooks", ".git/config", ".git/info") if commits else (".git",)
        guarded = [self.project / name for name in (*own, ".quintet")] if roots else [self.project]
        seen = {str(file): _hash(file) for place in (self.sibling, self.home, *guarded) for file in _files(place)}
        return seen | {path: _hash(Path(path)) for path in MACHINE if os.path.exists(path)}

    def close(self) -> None:
        self._listener.close()

    def visited(self) -> bool:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return False
        connection.close()
        return True

    async def attack(self, line: str, kept: bool, grant: Grant | None = None, seconds: float = SECONDS) -> str:
        """Run one line, in walls that are kept or not; returns what it reached, empty if nothing.

        Without a grant it has one that writes the project; `/outside` in the line is the folder beside it.
        """
        self.reset()
        grant = grant or Grant((Effect.EXECUTE,), (str(self.project),))
        line = line.replace("/outside", str(self.sibling))
        commits = Effect.COMMIT in grant.effects
        before, started = self.state(grant.write_roots, commits=commits), time.time() - time.monotonic()
        processes = self._processes()
        try:
            if kept:
                await put_up_a_room_at_once(processes, str(self.project), grant)
            done = await processes.run(("bash", "-c", line), cwd=str(self.project), grant=grant, timeout=seconds)
        except ToolFailed as error:
            return f"the sandbox failed: {error}"
        finally:
            await processes.close()
        after = self.state(grant.write_roots, commits=commits)
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        found = [f"changed {path}" for path in changed]
        found += ["read a secret"] if SECRET in done.output else []
        found += ["reached the network"] if self.visited() else []
        found += ["set the clock"] if abs(time.time() - time.monotonic() - started) > 5 else []
        return "; ".join(found)

    async def read_together(self, lines: Iterable[str], at_once: int, seconds: float) -> list[str]:
        """Run lines that may only read, several at once and in one project; returns what any of them reached."""
        self.reset()
        before, turns, processes = self.state(), asyncio.Semaphore(at_once), self._processes()

        async def one(line: str) -> str:
            command = ("bash", "-c", line.replace("/outside", str(self.sibling)))
            async with turns:
                done = await processes.run(command, cwd=str(self.project), grant=Grant((Effect.READ,)), timeout=seconds)
            return f"{line!r} read a secret" if SECRET in done.output else ""

        try:
            found = list(filter(None, await asyncio.gather(*map(one, lines))))
        finally:
            await processes.close()
        after = self.state()
        found += [f"changed {path}" for path in {**before, **after} if before.get(path) != after.get(path)]
        return found + (["reached the network"] if self.visited() else [])

    def _processes(self) -> LocalProcesses:
        setup = SandboxSetup(
            root=str(self.project),
            private=(),
            scratch_parent=str(self.folder / "scratch"),
            file_bytes=100_000_000,
            protection=PROTECTION,
        )
        return LocalProcesses(contain(Sandbox.BWRAP, setup))


def _files(place: Path) -> Iterable[Path]:
    found = [place] if place.is_file() else place.rglob("*")
    return (file for file in found if file.is_file() and not file.is_symlink())


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def assault(folder: Path, lines: Iterable[str], *, kept: bool = False) -> list[str]:
    """Run the lines one by one; returns those that reached something, with what."""
    os.environ["HOME"] = str(folder / "home")
    field = Field(folder)
    try:
        return [f"{line!r}: {reached}" for line in lines if (reached := asyncio.run(field.attack(line, kept)))]
    finally:
        field.close()
