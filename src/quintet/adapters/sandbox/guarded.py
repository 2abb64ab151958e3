"""Finds what a sandbox has to cover inside the project: secrets, and the git folders whose hooks and config are kept.

A folder is read again only when its own time stamp has changed, so that a second look at a big project costs one
`stat` a folder. Trees of other people's code (virtual environments, node_modules) are not looked into.
"""

from __future__ import annotations

import os
import time

from msgspec import Struct

from quintet.domain.protected import Protection

FOREIGN = frozenset({"node_modules", "site-packages", ".venv", "venv", ".tox", ".nox"})
SETTLED_NS = 50_000_000  # a time stamp younger than this may hide a second change


class Guarded(Struct, frozen=True):
    """Absolute paths."""

    secrets: tuple[str, ...]
    secret_folders: tuple[str, ...]
    repositories: tuple[str, ...]  # each a `.git`, folder or file


class _Folder(Struct, frozen=True):
    stamp: int
    settled: bool
    below: tuple[str, ...]
    secrets: tuple[str, ...]
    secret_folders: tuple[str, ...]
    repository: str


class Scanner:
    def __init__(self, root: str, protection: Protection) -> None:
        self._root = root
        self._protection = protection
        self._known: dict[str, _Folder] = {}

    def scan(self) -> Guarded:
        known: dict[str, _Folder] = {}
        waiting = [self._root]
        while waiting:
            path = waiting.pop()
            try:
                folder = self._look(path)
            except OSError:  # gone, or not ours to read: then it is not the command's either
                continue
            known[path] = folder
            waiting += folder.below
        self._known = known
        found = known.values()
        return Guarded(
            tuple(sorted(path for folder in found for path in folder.secrets)),
            tuple(sorted(path for folder in found for path in folder.secret_folders)),
            tuple(sorted(folder.repository for folder in found if folder.repository)),
        )

    def _look(self, path: str) -> _Folder:
        now = time.time_ns()
        stamp = os.stat(path).st_mtime_ns
        before = self._known.get(path)
        if before and before.settled and before.stamp == stamp:
            return before
        below, secrets, secret_folders, repository = [], [], [], ""
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name == ".git":
                    repository = entry.path
                elif entry.is_dir(follow_symlinks=False):
                    if self._protection.is_secret_folder(entry.path[len(self._root) :]):
                        secret_folders.append(entry.path)
                    elif entry.name not in FOREIGN:
                        below.append(entry.path)
                elif self._protection.is_secret(entry.path[len(self._root) :]) and (real := self._real(entry)):
                    secrets.append(real)
        return _Folder(stamp, now - stamp > SETTLED_NS, tuple(below), tuple(secrets), tuple(secret_folders), repository)

    def _real(self, entry: os.DirEntry[str]) -> str:
        """The file itself; a link that leads out of the project leads nowhere in the sandbox."""
        if not entry.is_symlink():
            return entry.path
        real = os.path.realpath(entry.path)
        return real if real.startswith(self._root + "/") and os.path.isfile(real) else ""
