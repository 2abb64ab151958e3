"""Containment by bubblewrap: the command sees the system read-only, its project, a /tmp and an empty home of its own.

The project is read-only unless the grant says otherwise; `.git` is read-only unless the grant commits, and then its
hooks, config and info still are. Secrets are covered. There is a network only if the grant has one.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence

from quintet.adapters.sandbox.ground import MINDER, Ground, Launch, Report, Walls
from quintet.adapters.sandbox.machine import (
    ALIASES,
    HIDDEN_SYSTEM,
    SYSTEM,
    below,
    credentials,
    git_common,
    home,
    on_path,
    toolchains,
)
from quintet.domain.grants import Effect, Grant, Sandbox
from quintet.domain.protected import GIT_KEPT, QUINTET_KEPT

NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
)
PROBE_SECONDS = 10.0
REPORT = Report("--json-status-fd", b'"exit-code"')  # written only when the walls stood and the command ran


def program() -> str:
    return on_path("bwrap")


def hindrance() -> str:
    """Why bubblewrap cannot put up the walls here; empty if it can. Some machines forbid namespaces."""
    found = program()
    if not found:
        return "bubblewrap (bwrap) is not on PATH; the system's packages have it"
    argv = [found, *NAMESPACES, "--unshare-net", *_system(), "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{found} cannot start: {error}"
    said = done.stderr.decode("utf-8", "replace").strip()
    return f"{found} cannot start: {said or f'exit {done.returncode}'}" if done.returncode else ""


class Bubblewrap:
    kind = Sandbox.BWRAP

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._base: list[str] = []

    def launch(self, argv: Sequence[str], cwd: str, grant: Grant) -> Launch:
        if Effect.OUTSIDE in grant.effects:  # a person has said yes to leaving the walls
            return Launch(tuple(argv), cwd)
        guarded = self._ground.scanner.scan()
        words = [program() or "bwrap", *NAMESPACES]
        words += [] if grant.network else ["--unshare-net"]
        words += self._machine()
        if grant.network:
            words += _resolver()
        if Effect.PUBLISH in grant.effects:  # publishing takes the user's own keys
            words += ["--ro-bind", home(), home()]
        words += self._project(grant)
        for repository in guarded.repositories:
            words += self._repository(repository, grant)
        words += self._kept(os.path.join(self._ground.root, ".quintet"), QUINTET_KEPT, grant)
        words += self._covered(
            (*guarded.secrets, *credentials(), *filter(os.path.isfile, HIDDEN_SYSTEM)),
            (*guarded.secret_folders, *self._ground.hidden(), *filter(os.path.isdir, HIDDEN_SYSTEM)),
        )
        inside = ("--chdir", cwd, "--", *self._ground.bounded(argv))
        return Launch(
            (*words, *inside),
            cwd,
            {"TMPDIR": "/tmp"},
            self._ground.missing(guarded, grant),
            REPORT,
            tuple(argv),
            self._room(words),
        )

    def _room(self, words: Sequence[str]) -> Walls:
        """The same walls as a room that is kept: its own process is the first one inside."""
        return Walls(
            (words[0], "--as-pid-1", *words[1:], "--", *self._ground.bounded(())),
            self._ground.root,
            tuple(_identity(word) for word in words if word[:1] == "/"),
        )

    def settle(self, launch: Launch) -> list[str]:
        return self._ground.settle(launch)

    async def close(self) -> None:
        await self._ground.close()

    def _machine(self) -> list[str]:
        """What is the same for every command of the session."""
        if not self._base:
            scratch = self._ground.scratch
            # With --disable-userns bubblewrap leaves /proc/sys writable: root inside could set core_pattern for all.
            words = [*_system(), "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
            words += ["--tmpfs", "/run", "--dir", "/var/tmp"]
            words += ["--bind", scratch("tmp"), "/tmp"]
            words += ["--bind", scratch("home"), home()] if home() != "/" else []
            for folder in (*toolchains(), os.path.dirname(MINDER)):
                if not below(folder, self._ground.root):
                    words += ["--ro-bind", folder, folder]
            self._base = words
        return self._base

    def _project(self, grant: Grant) -> list[str]:
        root = self._ground.root
        words = ["--bind" if root in grant.write_roots else "--ro-bind", root, root]
        for path in grant.read_roots:
            # A folder above the home or the project would uncover what lies hidden in it; the system is there already.
            seen = any(below(path, kept) for kept in (root, "/dev", "/proc", *SYSTEM))
            if os.path.exists(path) and not seen and not any(below(kept, path) for kept in (root, home())):
                words += ["--ro-bind", path, path]
        for path in grant.write_roots:
            if path != root and os.path.exists(path):
                words += ["--bind", path, path]
        return words

    def _repository(self, repository: str, grant: Grant) -> list[str]:
        """A git folder, or the file of a worktree or submodule and the folders it leads to."""
        if os.path.isdir(repository):
            modules = _modules(os.path.join(repository, "modules"))
            return [word for git in (repository, *modules) for word in self._kept(git, GIT_KEPT, grant)]
        outside = [git for git in git_common(repository) if not below(git, self._ground.root)]
        words = ["--ro-bind", repository, repository] if grant.write_roots else []
        return words + [word for git in outside for word in self._kept(git, GIT_KEPT, grant)]

    def _kept(self, folder: str, kept: Sequence[str], grant: Grant) -> list[str]:
        """A folder of which some parts may never be written; mounted onto itself, it cannot be renamed away."""
        if not os.path.isdir(folder):
            return []
        root, is_git = self._ground.root, kept is GIT_KEPT
        outside = not below(folder, root)
        within = root in grant.write_roots if outside else any(below(folder, place) for place in grant.write_roots)
        writable = within and (not is_git or Effect.COMMIT in grant.effects)
        if not writable:
            return ["--ro-bind", folder, folder] if grant.write_roots or outside else []
        words = ["--bind", folder, folder]
        for name in kept:
            if os.path.exists(path := os.path.join(folder, name)):
                words += ["--ro-bind", path, path]
        return words

    def _covered(self, files: Iterable[str], folders: Iterable[str]) -> list[str]:
        """Nothing can be read there: an unreadable file or an empty folder lies on top."""
        words: list[str] = []
        for path in files:
            words += ["--ro-bind", self._unreadable(), path]
        for path in folders:
            words += ["--perms", "0000", "--tmpfs", path]
        return words

    def _unreadable(self) -> str:
        path = os.path.join(self._ground.scratch("walls"), "unreadable")
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o000))
        return path


def _identity(path: str) -> tuple[int, int]:
    """Which file a path names: a wall stands on the file that was there, not on one that took its place."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


def _system() -> list[str]:
    words: list[str] = []
    for path in SYSTEM:
        words += ["--ro-bind", path, path] if os.path.isdir(path) else []
    for path in ALIASES:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    return words


def _resolver() -> list[str]:
    """/etc/resolv.conf is often a link into /run."""
    real = os.path.realpath("/etc/resolv.conf")
    return ["--ro-bind", real, real] if real.startswith("/run/") and os.path.exists(real) else []


def _modules(folder: str) -> list[str]:
    """The git folders of submodules, which live inside the one of their project."""
    found: list[str] = []
    for path, folders, files in os.walk(folder):
        if "HEAD" in files and "config" in files:
            found.append(path)
            folders[:] = [name for name in folders if name == "modules"]
    return found
