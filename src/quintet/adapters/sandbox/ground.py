"""What every containment stands on, and what there is where none works: no walls, but a minder and bounds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from quintet.adapters.host_programs import host_path
from quintet.adapters.sandbox.guarded import Guarded, Scanner
from quintet.adapters.sandbox.machine import below
from quintet.domain.grants import Effect, Grant, Sandbox
from quintet.domain.protected import GIT_KEPT, QUINTET_KEPT, Protection

MINDER = os.path.join(os.path.dirname(__file__), "confine.py")
PRLIMIT = "/usr/bin/prlimit"
REPORT = "@report"  # among the words of a launch: the handle on which the sandbox tells that it stands
READING = frozenset({Effect.READ, Effect.FETCH})


class Walls(Struct, frozen=True):
    """A sandbox without a command; the same one for another command if all of this is the same."""

    argv: tuple[str, ...]
    cwd: str
    stands_on: tuple[tuple[int, int], ...]  # device and number of every file named


class Launch(Struct, frozen=True):
    """How a command is started."""

    argv: tuple[str, ...]
    cwd: str
    variables: dict[str, str] = {}  # on top of the children's environment
    watched: tuple[str, ...] = ()  # protected paths that are not there
    command: tuple[str, ...] = ()  # what runs behind the walls
    room: Walls | None = None  # in which it could run as well
    notes: tuple[str, ...] = ()  # what the walls could not give

    @property
    def reports(self) -> bool:
        """Whether the sandbox tells when it stands."""
        return REPORT in self.argv

    def reporting(self, handle: int) -> tuple[str, ...]:
        """The same with that report going to a handle."""
        at = self.argv.index(REPORT)
        return (*self.argv[:at], str(handle), *self.argv[at + 1 :])


class Containment(Protocol):
    kind: Sandbox

    def launch(self, argv: Sequence[str], cwd: str, grant: Grant) -> Launch: ...

    def settle(self, launch: Launch) -> list[str]:
        """After the command: put aside what appeared in a protected place, and say so."""

    async def close(self) -> None: ...


class Ground(Struct):
    """What every containment stands on: the project, Quintet's own folders, and a scratch folder of the session's."""

    root: str
    private: tuple[str, ...]  # Quintet's own state and settings: never seen by a command
    scratch_parent: str
    file_bytes: int  # the largest file a command may write
    protection: Protection
    scanner: Scanner
    made: str = ""

    def scratch(self, name: str) -> str:
        """A folder that lives as long as the session: /tmp, an empty home."""
        if not self.made:
            self.made = os.path.join(self.scratch_parent, str(os.getpid()))
            _sweep(self.scratch_parent)
        path = os.path.join(self.made, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def hidden(self) -> list[str]:
        """Of Quintet's own folders, those a command would see in its project."""
        return [path for path in self.private if path.startswith(self.root + "/")]

    def bounded(self, argv: Sequence[str]) -> tuple[str, ...]:
        """With a limit on the size of files, where the machine has the program for it."""
        if not self.file_bytes or not os.path.exists(PRLIMIT):
            return tuple(argv)
        return (PRLIMIT, f"--fsize={self.file_bytes}", "--core=0", "--nproc=4096", "--", *argv)

    def missing(self, guarded: Guarded, grant: Grant) -> tuple[str, ...]:
        """The protected paths that are not there, below what the grant can write."""
        places = [os.path.join(git, kept) for git in guarded.repositories if os.path.isdir(git) for kept in GIT_KEPT]
        places += [os.path.join(self.root, ".quintet", kept) for kept in QUINTET_KEPT]
        if Effect.COMMIT not in grant.effects:
            places.append(os.path.join(self.root, ".git"))
        within = [path for path in places if any(below(path, root) for root in grant.write_roots)]
        return tuple(path for path in within if not os.path.lexists(path))

    def settle(self, launch: Launch) -> list[str]:
        notes = list(launch.notes)
        for path in launch.watched:
            if os.path.lexists(path):
                aside = os.path.join(self.scratch_parent, "aside", f"{time.time_ns()}-{os.path.basename(path)}")
                from shutil import move

                os.makedirs(os.path.dirname(aside), mode=0o700, exist_ok=True)
                move(path, aside)
                notes.append(f"{os.path.relpath(path, self.root)} is protected; it appeared, and was moved to {aside}")
        return notes

    async def close(self) -> None:
        if self.made:
            import asyncio  # only a session closes; a lookup that probes must stay cheap
            from shutil import rmtree

            await asyncio.to_thread(rmtree, self.made, ignore_errors=True)


def _sweep(parent: str) -> None:
    """Remove the scratch folders of processes that are gone."""
    if os.path.isdir(parent):
        for name in os.listdir(parent):
            if name.isdigit() and not os.path.exists(f"/proc/{name}"):
                from shutil import rmtree

                rmtree(os.path.join(parent, name), ignore_errors=True)


def minded(argv: Sequence[str], walls: str = "{}") -> tuple[str, ...]:
    """Under a small parent that ends whatever the command leaves behind."""
    return (sys.executable, "-I", "-S", MINDER, walls, *argv)


class Uncontained:
    """No walls. A command that does more than read is still minded, and its files are bounded."""

    kind = Sandbox.NONE

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def launch(self, argv: Sequence[str], cwd: str, grant: Grant) -> Launch:
        if not set(grant.effects) - READING:  # goes unasked: by no program of the project's
            return Launch(tuple(argv), cwd, {"PATH": host_path()})
        if Effect.OUTSIDE in grant.effects:
            return Launch(tuple(argv), cwd)
        watched = self._ground.missing(self._ground.scanner.scan(), grant)
        return Launch(minded(self._ground.bounded(argv)), cwd, watched=watched)

    def settle(self, launch: Launch) -> list[str]:
        return self._ground.settle(launch)

    async def close(self) -> None:
        await self._ground.close()
