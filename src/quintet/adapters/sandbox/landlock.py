"""Containment by Landlock and seccomp, where bubblewrap does not start: `partial`.

Files outside the project cannot be written, and no socket can be opened but a pair of its own (ADR 25). What lies
inside a writable project (hooks, secrets) cannot be taken away again, so the gate asks before such commands. Nor can
modes, times and attributes of files outside it from one that writes: Landlock has no right for them, and the filter
sees no paths. /dev/shm is everybody's: semaphores are made there.

Where that does not work either, there is no sandbox: only confine.py as the parent of the command, and bounds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from quintet.adapters.git.own_branch import own_folders
from quintet.adapters.processes.host_programs import host_path
from quintet.adapters.protected.linked_git import linked
from quintet.adapters.protected.nofollow import stat_nofollow
from quintet.adapters.sandbox import syscall_filter
from quintet.adapters.sandbox.confine import BOUND, LANDLOCK
from quintet.adapters.sandbox.containment import Containment, Launch, SandboxedCommand
from quintet.adapters.sandbox.host_mounts import ALIASES, SYSTEM, below, toolchains
from quintet.domain.permission.effects import READING, Effect, Grant, Sandbox

if TYPE_CHECKING:
    from quintet.adapters.sandbox.project_watch import BeforeRun

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")


class Landlock(Containment):
    kind = Sandbox.PARTIAL

    def contained(self, command: SandboxedCommand, begun: BeforeRun) -> Launch:
        argv, cwd, grant = command.argv, command.cwd, command.grant
        setup = self.setup
        gits = [path for repository in begun.guarded.repositories for path in linked(repository, setup.root)]
        scratch, empty_home = setup.scratch("tmp"), setup.scratch("home")
        read = [*SYSTEM, *ALIASES, "/proc", "/dev", *toolchains(setup.protection, setup.private), setup.scripts]
        read += [setup.root, *gits, *grant.read_roots]
        roots = [path for path in grant.write_roots if self._leads_nowhere_else(path)]
        write = [*roots, scratch, empty_home, *(f"/dev/{name}" for name in DEVICES)]
        write += _of_git(setup.root, gits, setup.own_branch) if Effect.COMMIT in grant.effects else []
        writes = bool(grant.write_roots) or Effect.COMMIT in grant.effects
        rules = syscall_filter.program(network=grant.network, local=False, attributes=writes).hex()
        variables = {"TMPDIR": scratch, "HOME": empty_home, "GIT_CONFIG_GLOBAL": os.path.expanduser("~/.gitconfig")}
        if not set(grant.effects) - READING:  # runs without approval, so no program of the project may run
            variables["PATH"] = host_path()
        notes = tuple(
            f"{os.path.relpath(path, setup.root)} is a link, or leads through one: not writable"
            for path in grant.write_roots
            if path not in roots and os.path.lexists(path)
        )
        limits = (LANDLOCK, rules, str(len(read)), *read, str(len(write)), *write)
        launch = setup.under_confine(setup.bounded(argv), cwd, *limits)
        return structs.replace(
            launch,
            variables=variables,
            watched=begun.watched,
            number=begun.number,
            command=tuple(argv),
            notes=notes,
        )

    def _leads_nowhere_else(self, path: str) -> bool:
        """A folder of the project that is a link, or behind one, could be any folder."""
        root = self.setup.root
        return not below(path, root) or stat_nofollow(root, os.path.relpath(path, root)) is not None


def _of_git(root: str, gits: list[str], own_branch: str) -> list[str]:
    """What a command that commits may write. In a worktree of Quintet's it moves no branch: Landlock knows no single
    file that is yet to be made, and the folder of its ref is that of others, too. The worker commits what it leaves."""
    if not own_branch:
        return gits
    found = own_folders(root)
    return [os.path.join(found.common, "objects"), found.own] if found else []


class Uncontained(Containment):
    """No sandbox. All runs under confine.py, and what does more than read with bounds on its files."""

    kind = Sandbox.NONE

    def launch(
        self, argv: Sequence[str], cwd: str, grant: Grant, held: Sequence[str] = (), *, sealed_home: bool = False
    ) -> Launch:
        if not set(grant.effects) - READING:  # runs without approval, so no program of the project may run
            return structs.replace(self.watched(argv, cwd), variables={"PATH": host_path()})
        return super().launch(argv, cwd, grant, held, sealed_home=sealed_home)

    def contained(self, command: SandboxedCommand, begun: BeforeRun) -> Launch:
        launch = self.setup.under_confine(self.setup.bounded(command.argv), command.cwd, BOUND)
        return structs.replace(launch, watched=begun.watched, number=begun.number, command=tuple(command.argv))
