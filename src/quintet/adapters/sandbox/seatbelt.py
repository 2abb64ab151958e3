"""Containment by sandbox-exec on macOS, from the same grant as everywhere: `partial`, and untried.

Files outside the project cannot be written, what is Quintet's own or a secret cannot be read, and no network can be
used without a grant. Git's folders cannot be written by a command that does not commit. A command that starts a session
of its own outlives its call.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import structs

from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.own_branch import own_folders
from quintet.adapters.processes.host_programs import host_path
from quintet.adapters.protected.linked_git import linked
from quintet.adapters.sandbox.confine import BOUND
from quintet.adapters.sandbox.containment import Containment, Launch, SandboxedCommand
from quintet.adapters.sandbox.host_mounts import HIDDEN_SYSTEM, below, credentials, toolchains
from quintet.adapters.sandbox.seatbelt_profile import SANDBOX_EXEC, profile
from quintet.domain.permission.effects import READING, Effect, Sandbox

if TYPE_CHECKING:
    from quintet.adapters.sandbox.project_watch import BeforeRun

SYSTEM = (
    *("/System", "/usr", "/bin", "/sbin", "/opt", "/Library", "/etc", "/nix"),
    *("/private/var/select", "/private/var/db/timezone", "/Applications/Xcode.app"),
)
CLOSED = ("/Library/Keychains", "/etc/master.passwd", *HIDDEN_SYSTEM)


class Seatbelt(Containment):
    kind = Sandbox.PARTIAL

    def contained(self, command: SandboxedCommand, begun: BeforeRun) -> Launch:
        setup, grant = self.setup, command.grant
        guarded = begun.guarded
        repositories = guarded.repositories
        gits = [path for repository in repositories for path in linked(repository, setup.root)]
        scratch, empty_home = setup.scratch("tmp"), setup.scratch("home")
        read = [*SYSTEM, *toolchains(setup.protection, setup.private), setup.scripts, setup.root, *gits]
        roots = [path for path in grant.write_roots if self._leads_nowhere_else(path)]
        commits = Effect.COMMIT in grant.effects
        text = profile(
            _all_real([*read, *grant.read_roots]),
            _all_real([*roots, scratch, empty_home, *(_of_git(setup.root, gits, setup.own_branch) if commits else ())]),
            network=grant.network,
            held=_all_real(
                [*command.held, *guarded.kept, *(() if commits else (*repositories, *gits, *guarded.from_git))]
            ),
            closed=_all_real([*CLOSED, *credentials(), *setup.private, *setup.unreachable, *guarded.secrets]),
        )
        variables = {"TMPDIR": scratch, "HOME": empty_home, "GIT_CONFIG_GLOBAL": os.path.expanduser("~/.gitconfig")}
        if not set(grant.effects) - READING:  # runs without approval, so no program of the project may run
            variables["PATH"] = host_path()
        launch = setup.under_confine((SANDBOX_EXEC, "-p", text, *command.argv), command.cwd, BOUND)
        return structs.replace(
            launch, variables=variables, watched=begun.watched, number=begun.number, command=tuple(command.argv)
        )

    def _leads_nowhere_else(self, path: str) -> bool:
        """A folder of the project that is a link, or behind one, could be any folder."""
        root = real_path(self.setup.root)
        inside = below(path, self.setup.root)
        return not inside or real_path(path) == os.path.normpath(
            os.path.join(root, os.path.relpath(path, self.setup.root))
        )


def _of_git(root: str, gits: list[str], own_branch: str) -> list[str]:
    """What a command that commits may write: in a worktree of Quintet's, of all refs its own branch's alone."""
    if not own_branch:
        return gits
    found = own_folders(root)
    if found is None:
        return []
    ref = f"refs/heads/{own_branch}"
    return [
        *(os.path.join(found.common, "objects"), found.own),
        *(os.path.join(found.common, name) for name in (ref, f"{ref}.lock", f"logs/{ref}")),
    ]


def _all_real(paths: Iterable[str]) -> list[str]:
    """What they lead to: `/tmp`, `/etc` and `/var` are links on macOS."""
    return list(dict.fromkeys(real_path(path) for path in paths))
