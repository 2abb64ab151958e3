"""Containment by Landlock and seccomp, where bubblewrap does not start: `partial`.

Files outside the project cannot be written, and no socket can be opened but a pair of its own (ADR 25). What lies
inside a writable project (hooks, secrets) cannot be taken away again, so the gate asks before such commands. Nor can
modes, times and attributes of files outside it from one that writes: Landlock has no right for them, and the filter
sees no paths. /dev/shm is everybody's: semaphores are made there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from quintet.adapters.processes.host_programs import host_path
from quintet.adapters.protected.linked_git import linked
from quintet.adapters.protected.nofollow import looked
from quintet.adapters.sandbox import syscall_filter
from quintet.adapters.sandbox.containment import Containment
from quintet.adapters.sandbox.host_mounts import ALIASES, SYSTEM, below, toolchains
from quintet.adapters.sandbox.project_watch import READING, Begun, Launch
from quintet.domain.permission.effects import Effect, Grant, Sandbox

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")


class Landlock(Containment):
    kind = Sandbox.PARTIAL

    def walled(self, argv: Sequence[str], cwd: str, grant: Grant, held: Sequence[str], begun: Begun) -> Launch:
        ground = self.ground
        gits = [path for repository in begun.guarded.repositories for path in linked(repository, ground.root)]
        scratch, empty_home = ground.scratch("tmp"), ground.scratch("home")
        read = [*SYSTEM, *ALIASES, "/proc", "/dev", *toolchains(ground.protection, ground.private), ground.scripts]
        read += [ground.root, *gits, *grant.read_roots]
        roots = [path for path in grant.write_roots if self._leads_nowhere_else(path)]
        write = [*roots, scratch, empty_home, *(f"/dev/{name}" for name in DEVICES)]
        write += gits if Effect.COMMIT in grant.effects else []
        writes = bool(grant.write_roots) or Effect.COMMIT in grant.effects
        rules = syscall_filter.program(network=grant.network, local=False, attributes=writes).hex()
        walls = {"landlock": True, "filter": rules, "read": read, "write": write}
        text = msgspec.json.encode(walls).decode()
        variables = {"TMPDIR": scratch, "HOME": empty_home, "GIT_CONFIG_GLOBAL": os.path.expanduser("~/.gitconfig")}
        if not set(grant.effects) - READING:  # goes unasked: by no program of the project's
            variables["PATH"] = host_path()
        notes = tuple(
            f"{os.path.relpath(path, ground.root)} is or leads through a link: not writable"
            for path in grant.write_roots
            if path not in roots and os.path.lexists(path)
        )
        words = ground.minded(ground.bounded(argv), text)
        return Launch(words, cwd, variables, begun.watched, begun.number, tuple(argv), notes=notes)

    def _leads_nowhere_else(self, path: str) -> bool:
        """A folder of the project that is a link, or behind one, could be any folder."""
        root = self.ground.root
        return not below(path, root) or looked(root, os.path.relpath(path, root)) is not None
