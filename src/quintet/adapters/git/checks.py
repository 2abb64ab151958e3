"""For the doctor: a repository that git cannot work with, and a lock that no git holds."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.git.git_folders import git_folders
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

LOCKS = ("index.lock", "HEAD.lock")
OLD_SECONDS = 600.0  # a lock that is younger may be of a git that just ended its work
GIT_BROKEN = FindingKind(
    "GIT_BROKEN",
    Severity.ERROR,
    HealthScope.PROJECT,
    "The folder `.git` lacks its HEAD, objects or refs, or leads to a repository that does not know this folder.",
    "See what git says: git status; restore the repository, or clone it again.",
)
GIT_LOCKED = FindingKind(
    "GIT_LOCKED",
    Severity.WARNING,
    HealthScope.PROJECT,
    "A git process was killed, and the lock that it held keeps every commit from being made.",
    "remove the lock; no git process is running here",
    fixable=True,
)
GIT_NOT_YOURS = FindingKind(
    "GIT_NOT_YOURS",
    Severity.WARNING,
    HealthScope.MACHINE,
    "The repository above this folder belongs to another user, so it is not used.",
    "If you trust it: git config --global --add safe.directory PATH",
)
KINDS = (GIT_BROKEN, GIT_LOCKED, GIT_NOT_YOURS)


def repository_is_whole(checkup: Checkup) -> Iterator[Finding]:
    root = checkup.places.root
    dot = os.path.join(root, ".git")
    if os.path.lexists(dot) and not os.path.islink(dot) and git_folders(root) is None:
        yield GIT_BROKEN.of(".git", f"{on_one_line(dot)} is not a repository that git can use")
    if above := checkup.places.passed_over:
        problem = f"{on_one_line(above)} has a .git that belongs to another user"
        yield GIT_NOT_YOURS.of(on_one_line(above), problem)


def no_lock_is_left(checkup: Checkup) -> Iterator[Finding]:
    for path in _left(checkup.places.root):
        yield GIT_LOCKED.of(os.path.basename(path), f"{on_one_line(path)} is a lock that no git process holds")


def remove_locks(checkup: Checkup) -> list[str]:
    done = []
    for path in _left(checkup.places.root):
        os.unlink(path)
        done.append(f"removed {on_one_line(path)}")
    return done


def _left(root: str) -> list[str]:
    """Locks that are old, where no git works: one that has its editor open holds its lock as long as that takes."""
    folders = git_folders(root)
    found = []
    for path in (os.path.join(folders.own, name) for name in LOCKS) if folders else ():
        with contextlib.suppress(OSError):
            if time.time() - os.lstat(path).st_mtime > OLD_SECONDS and not os.path.islink(path):
                found.append(path)
    return found if found and not _git_runs_in(root) else []


def _git_runs_in(root: str) -> bool:
    """Whether a git process of this machine works below a folder; one that cannot be looked at may."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/comm", encoding="utf-8", errors="replace") as file:
                if not file.read().startswith("git"):
                    continue
            try:
                folder = os.readlink(f"/proc/{name}/cwd")
            except PermissionError:
                return True
            if folder == root or folder.startswith(f"{root}/"):
                return True
    return not os.path.isdir("/proc")
