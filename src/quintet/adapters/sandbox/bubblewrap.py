"""Containment by bubblewrap: the command sees the system read-only, its project, a /tmp and an empty home of its own.

Bubblewrap builds the machine out of what no command can have written. What is protected inside the project is laid by
`sandbox_init.py`, from descriptor to descriptor: no mount follows a link there. The project is read-only unless the
grant says otherwise; there is a network only if the grant has one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.own_branch import OwnBranch, own_folders
from quintet.adapters.processes.host_programs import program
from quintet.adapters.protected.covers import ActiveCovers, SecretCovers
from quintet.adapters.protected.git_watch import HELD_IN_PART, held_in
from quintet.adapters.protected.linked_git import in_tree, linked
from quintet.adapters.protected.nofollow import stat_nofollow
from quintet.adapters.protected.scan import ProtectedScan, Scanner, folders_to_pin
from quintet.adapters.sandbox import syscall_filter
from quintet.adapters.sandbox.containment import Containment, Launch, SandboxedCommand, SandboxPlan, SandboxSetup
from quintet.adapters.sandbox.hidden import hidden_notes
from quintet.adapters.sandbox.host_mounts import (
    AGENT_INSIDE,
    CACHES,
    HIDDEN_SYSTEM,
    SYSTEM,
    agent_socket,
    below,
    credentials,
    home,
    shown_keys,
    system_mounts,
    toolchains,
)
from quintet.adapters.sandbox.opened_places import secrets_in
from quintet.adapters.sandbox.probe import LAYING, NAMESPACES
from quintet.adapters.sandbox.sandbox_init import (
    COVER,
    EMPTY,
    GO,
    NO_NETWORK,
    NO_REPORT,
    READ_ONLY,
    SEAL,
    STAY,
    WRITABLE,
)
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.package import FOLDER, INSTALLED

if TYPE_CHECKING:
    from quintet.adapters.sandbox.project_watch import BeforeRun

NAME_SERVER = "10.0.2.3"  # of a network of its own, as in user_network.py


class Bubblewrap(Containment):
    kind = Sandbox.BWRAP

    covers_git = True

    def __init__(self, setup: SandboxSetup, scanner: Scanner | None = None, records: str = "") -> None:
        super().__init__(setup, scanner, records)
        self._folders: list[str] = []
        self._covers = SecretCovers(setup.root)
        self._laid = ActiveCovers(setup.root)
        self._secrets: dict[str, tuple[str, ...]] = {}  # by the folder outside that is shown
        self._branch: OwnBranch | None = None  # once a command of a worktree's may commit

    def contained(self, command: SandboxedCommand, begun: BeforeRun) -> Launch:
        argv, cwd, grant, held, sealed_home = command
        guarded = begun.guarded
        laid = MountList(self.setup.root, grant)
        outside = self._outside(grant)
        gits = [git for repository in guarded.repositories for git in linked(repository, self.setup.root)]
        words = [program("bwrap") or "bwrap", *NAMESPACES, *LAYING]
        words += [] if grant.network and not self.setup.networks else ["--unshare-net"]
        words += self._machine(grant, [path for _, path in outside] + gits)
        words += self._resolver() if grant.network else []
        keys, agent = self._keys(grant)
        words += keys
        words += [laid.project(), self.setup.root, self.setup.root]
        for flag, path in outside:
            words += [flag, path, path]
        words += laid.outside_gits(gits, self._own_branch(grant))
        words += self._covered(keys, [path for flag, path in outside if flag == "--ro-bind"])
        laid.in_place(folders_to_pin(self.setup.root, self.setup.protection, guarded.secrets))
        laid.repositories(guarded, {one.git: [path for path, _ in one.taken] for one in begun.watched})
        laid.held(guarded, begun.lifted)
        laid.held_outside(held, [path for _, path in outside])
        covers = self._covers.of(guarded.secrets, guarded.repositories)
        hidden = (*filter(os.path.lexists, self.setup.hidden()), *self._own_secrets())
        laid.covered((*covers.closed, *hidden), covers.empty)
        if sealed_home and home() != "/" and not below(home(), self.setup.root):
            words += ["--remount-ro", home()]
        words += ["--chdir", cwd, "--", *self.setup.script("sandbox_init.py"), NO_NETWORK]
        if grant.network and self.setup.networks:
            networks = ":".join(self.setup.networks)
            words[:0] = [*self.setup.script("user_network.py"), str(len(words) - 1), networks]
        rules = syscall_filter.program(network=grant.network).hex() if syscall_filter.possible() else ""
        behind = (rules, str(len(laid.words) // 4), *laid.words)
        return Launch(
            (*words, NO_REPORT, STAY, *behind, *self.setup.bounded(argv)),
            cwd,
            {"TMPDIR": "/tmp", **agent},
            begun.watched,
            begun.number,
            tuple(argv),
            None if grant.keys else self._keepable(words, behind),  # no sandbox with keys in it is kept
            (*laid.notes, *self._laid.fallen()),
            len(words),
            True,
            tuple(os.path.relpath(path, self.setup.root) for path in covers.closed),
            self._laid.watch(laid.words),
        )

    def _keepable(self, words: Sequence[str], behind: Sequence[str]) -> SandboxPlan:
        """The same as a sandbox that is kept: its own process is the first one inside."""
        return SandboxPlan(
            (*words, NO_REPORT, GO, *behind, *self.setup.bounded(()), *self.setup.script("kept_sandbox_init.py")),
            self.setup.root,
            tuple(_identity(word) for word in words if word[:1] == "/"),
        )

    def hidden(self, launch: Launch, text: str) -> tuple[str, ...]:
        setup = self.setup
        own = (*setup.private, setup.scratch_parent)
        contained = launch.apart  # not approved to run outside
        gits = tuple(one.git for one in launch.watched)
        if not contained:
            return ()
        return hidden_notes(launch.argv, text, launch.cwd, setup.root, own, setup.protection, gits)

    def _own_branch(self, grant: Grant) -> Sequence[tuple[str, str]] | None:
        """In a worktree of Quintet's: what a command that commits may write, and where; None: all of the repository."""
        setup = self.setup
        if not setup.own_branch:
            return None
        found = own_folders(setup.root) if Effect.COMMIT in grant.effects else None
        if found is None:
            return ()
        if self._branch is None:
            folders = setup.scratch("own-branch/refs"), setup.scratch("own-branch/logs")
            self._branch = OwnBranch(setup.root, setup.own_branch, *folders)
        return self._branch.begin(found)

    def settle(self, launch: Launch) -> list[str]:
        if self._branch:
            self._branch.settle()
        fallen = self._laid.over(launch.covers)  # before anything is moved aside
        return [*super().settle(launch), *fallen]

    def _machine(self, grant: Grant, more: Sequence[str]) -> list[str]:
        """The system, an empty home, /tmp; `more` are the folders that will be mounted besides."""
        root, scratch = self.setup.root, self.setup.scratch
        # With --disable-userns bubblewrap leaves /proc/sys writable: root inside could set core_pattern for all.
        words = [*system_mounts(), "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        words += ["--tmpfs", "/run", "--dir", "/var/tmp"]
        places = [*self._programs(), *more, root, home()]
        words += self._tmp([path for path in places if path.startswith("/tmp/")])
        if home() != "/":
            words += ["--tmpfs", home()]
            for name in CACHES if grant.write_roots else ():
                cache = os.path.join(home(), name)
                if not any(below(path, cache) for path in places):
                    words += ["--bind", scratch(f"home/{name}"), cache]
        for folder in self._programs():
            words += ["--ro-bind", folder, folder]
        return words

    def _programs(self) -> list[str]:
        """The folders of programs outside the project and the system, which every command sees."""
        if not self._folders:
            shown = (*toolchains(self.setup.protection, self.setup.private), self.setup.scripts)
            self._folders = [folder for folder in shown if not below(folder, self.setup.root)]
        return self._folders

    def _tmp(self, inside: Sequence[str]) -> list[str]:
        """A /tmp that lasts as long as the session. Something is mounted on each name in it that leads to another
        mount, in every sandbox that has this /tmp, so that no command can put a link there."""
        tops = {path.split("/")[2]: len(path.split("/")) == 3 and not os.path.isdir(path) for path in sorted(inside)}
        name = "-".join(("tmp", *(top.encode("utf-8", "surrogateescape").hex() for top in tops)))
        folder = self.setup.scratch(name if len(name) < 200 else f"tmp-{hash(name):x}")
        words = ["--bind", folder, "/tmp"]
        for top, is_file in tops.items():
            if is_file:
                os.close(os.open(os.path.join(folder, top), os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
            else:
                os.makedirs(os.path.join(folder, top), mode=0o700, exist_ok=True)
                words += ["--tmpfs", f"/tmp/{top}"]
        return words

    def _outside(self, grant: Grant) -> list[tuple[str, str]]:
        """What of the grant lies outside the project. A folder above the home or the project would uncover what lies
        hidden in it; the system is there already, and so is a program of a toolchain."""
        root = self.setup.root
        kept: list[tuple[str, str]] = []
        for flag, paths in (("--ro-bind", grant.read_roots), ("--bind", grant.write_roots)):
            for path in sorted(paths):
                seen = any(below(path, place) for place in (root, "/dev", "/proc", *SYSTEM))
                program = flag == "--ro-bind" and os.path.isfile(path)
                seen = seen or (program and any(below(path, place) for place in self._programs()))
                above = any(below(place, path) for place in (root, home()))
                if os.path.exists(path) and not seen and not above:
                    kept.append((flag, path))
        writable = [path for flag, path in kept if flag == "--bind"]
        return [  # nothing is mounted inside what a command can write
            (flag, path) for flag, path in kept if not any(path != other and below(path, other) for other in writable)
        ]

    def _own_secrets(self) -> list[str]:
        """Files of the user's that a project at the home folder holds."""
        return [path for path in credentials() if below(path, self.setup.root)]

    def _keys(self, grant: Grant) -> tuple[list[str], dict[str, str]]:
        """The user's own keys that the grant names, read-only, and the variable that leads to the ssh agent."""
        if not grant.keys:
            return [], {}
        words: list[str] = []
        for real, place in shown_keys(grant.keys, self.setup.root, self.setup.private):
            words += ["--ro-bind", real, place]
        socket = agent_socket(grant.keys)
        words += ["--ro-bind", socket, AGENT_INSIDE] if socket else []
        return words, {"SSH_AUTH_SOCK": AGENT_INSIDE} if socket else {}

    def _covered(self, keys: Sequence[str], shown: Sequence[str]) -> list[str]:
        """Nothing can be read there: an unreadable file or an empty folder lies on top. Not on `keys`, just shown."""
        words: list[str] = []
        files = [path for path in credentials() if path not in keys and not below(path, self.setup.root)]
        for folder in shown:
            if folder not in self._secrets:
                self._secrets[folder] = secrets_in(folder, self.setup.protection)
            files += self._secrets[folder]
        for path in (*files, *HIDDEN_SYSTEM, *self.setup.unreachable):
            if os.path.isdir(path):
                words += ["--perms", "0000", "--tmpfs", path]
            elif os.path.isfile(path):
                words += ["--ro-bind", self._unreadable(), path]
        return words

    def _resolver(self) -> list[str]:
        """/etc/resolv.conf is often a link into /run. A network of its own has a name server of its own."""
        real = real_path("/etc/resolv.conf")
        if not os.path.exists(real):
            return []
        if not self.setup.networks:
            return ["--ro-bind", real, real] if real.startswith("/run/") else []
        path = os.path.join(self.setup.scratch("walls"), "resolv.conf")
        if not os.path.exists(path):
            with open(real, encoding="utf-8", errors="replace") as file:
                kept = [line for line in file if line.split()[:1] in (["search"], ["domain"])]
            with open(path, "w", encoding="utf-8") as file:
                file.writelines((f"nameserver {NAME_SERVER}\n", *kept))
        return ["--ro-bind", path, real]

    def _unreadable(self) -> str:
        path = os.path.join(self.setup.scratch("walls"), "unreadable")
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o000))
        return path


class MountList:
    """What is laid inside, as words for sandbox_init.py, in order: what lies in a folder comes after the folder."""

    def __init__(self, root: str, grant: Grant) -> None:
        self._root = root
        self._grant = grant
        self._whole = root in grant.write_roots
        self._writable: set[tuple[str, str]] = set()  # each once: sandbox_init.py takes them beforehand
        self.words: list[str] = []
        self.notes: list[str] = []

    def _lay(self, how: str, path: str, base: str = "", *, needed: bool = True) -> bool:
        """`needed`: it existed a moment ago; if it is gone now, a running command has replaced it."""
        base = base or self._root
        name = os.path.relpath(path, base)
        found = stat_nofollow(base, name)
        if found and not (how == WRITABLE and (base, name) in self._writable):
            self.words += [how, base, name, f"{found.st_dev}:{found.st_ino}"]
            self._writable.update([(base, name)] if how == WRITABLE else ())
        elif needed and not found:
            raise ToolFailed(
                f"the sandbox could not start, so nothing was run: {name} changed in the meantime; run it again"
            )
        return found is not None

    def project(self) -> str:
        """How the project itself is bound; parts of it may be written though the rest is sealed."""
        parts = [path for path in self._grant.write_roots if path.startswith(self._root + "/")]
        if self._whole or not parts:
            return "--bind" if self._whole else "--ro-bind"
        for path in parts:
            if not self._lay(WRITABLE, path, needed=False) and os.path.lexists(path):
                self.notes.append(f"{os.path.relpath(path, self._root)} is a link, or leads through one: not writable")
        self.words[:0] = [SEAL, self._root, ".", "-"]
        return "--bind"

    def in_place(self, folders: Iterable[str]) -> None:
        """Folders that cannot be renamed, mounted onto themselves; what is laid in them comes later."""
        for folder in sorted(folders):
            if self._written(folder):
                self._lay(WRITABLE, folder, needed=False)

    def _written(self, path: str) -> bool:
        return any(below(path, place) for place in self._grant.write_roots)

    def repositories(self, guarded: ProtectedScan, taken: Mapping[str, Sequence[str]]) -> None:
        """`taken`: what a git folder takes from the project's files, where that is known."""
        bare = [path for path in guarded.bare if path != self._root]
        for repository in dict.fromkeys((*guarded.repositories, *bare)):
            if self._written(repository):
                self._git(repository, self._root)
                for path in taken[repository] if repository in taken else in_tree(repository, self._root):
                    self._lay(READ_ONLY, path, needed=False)

    def _git(self, git: str, base: str) -> None:
        """A git folder, or the file that stands for one. A folder that is mounted cannot be renamed."""
        is_folder = os.path.isdir(git)
        if Effect.COMMIT not in self._grant.effects or not is_folder:
            self._lay(READ_ONLY, git, base)
        elif git == base or self._lay(WRITABLE, git, base):
            self._hold_in_git(held_in(git), git, base)

    def _hold_in_git(self, paths: Sequence[str], git: str, base: str) -> None:
        """Read-only in a git folder that may be written. No folder on the way can be renamed, and another put there."""
        there = [path for path in paths if os.path.lexists(path)]
        for folder in sorted({folder for path in there for folder in _folders_between(git, path)}):
            self._lay(WRITABLE, folder, base, needed=False)
        for path in there:
            self._lay(READ_ONLY, path, base, needed=False)

    def outside_gits(self, gits: Sequence[str], own: Sequence[tuple[str, str]] | None = None) -> list[str]:
        """The folders that worktrees and submodules lead to; a worktree's own lies in the common one.

        `own`: all of them that may be written, and what is written in place of it.
        """
        words: list[str] = []
        writable = self._whole and Effect.COMMIT in self._grant.effects and own is None
        for git in dict.fromkeys(gits):
            if not any(git != other and below(git, other) for other in gits):
                words += ["--bind" if writable else "--ro-bind", git, git]
                if writable:
                    self._git(git, git)
        for real, place in own or () if self._whole else ():
            words += ["--bind", real, place]
            if real == place:
                self._hold_in_git(held_in(place, HELD_IN_PART), place, place)
        return words

    def held(self, guarded: ProtectedScan, lifted: bool) -> None:
        """What configures programs of the user's. Mounted onto itself, `.quintet` cannot be renamed.

        `lifted`: the line is git's alone, and what it leaves in the work tree is judged afterwards.
        """
        folder = os.path.join(self._root, ".quintet")
        if self._written(folder):
            self._lay(WRITABLE, folder, needed=False)
        if below(FOLDER, self._root) and INSTALLED:  # installed here, not worked on
            self._hold(FOLDER)
        for path in _tops(guarded.kept) if not lifted else ():
            self._hold(path)
        for path in guarded.from_git if Effect.COMMIT not in self._grant.effects else ():
            self._hold(path)

    def held_outside(self, held: Sequence[str], places: Sequence[str]) -> None:
        """In a folder outside the project; what is a link or not there is looked for afterwards."""
        for path in held:
            for place in places:
                if path != place and below(path, place):
                    self._lay(READ_ONLY, path, place, needed=False)

    def _hold(self, path: str) -> None:
        if self._written(path):
            self._lay(READ_ONLY, path)

    def covered(self, closed: Sequence[str], empty: Sequence[str]) -> None:
        """Each once: a second look at something covered would see the cover."""
        for path in _tops((*closed, *empty)):
            self._lay(EMPTY if path in empty and path not in closed else COVER, path)


def _folders_between(top: str, path: str) -> list[str]:
    """The folders that a path leads through below another one."""
    parts = os.path.relpath(path, top).split("/")[:-1]
    return [os.path.join(top, *parts[:count]) for count in range(1, len(parts) + 1)]


def _tops(paths: Sequence[str]) -> list[str]:
    """Without those that lie inside another one, or come twice."""
    tops: list[str] = []
    for path in sorted(paths, key=lambda path: path.split("/")):
        if not tops or not below(path, tops[-1]):
            tops.append(path)
    return tops


def _identity(path: str) -> tuple[int, int]:
    """Which file a path names: a sandbox stands on the file that was there, not on one that took its place."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
