"""How a file that may hold secrets looks to a command: as it is, empty, or closed.

What git tracks, and is as git has it, a command can read from git's objects: to hide the file would break git and the
project's tests, and keep nothing. What git ignores, or what lies in no repository, is empty, so that a program that
loads it goes on. Anything else is closed: `git add` fails, and puts no empty file into the repository.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from quintet.adapters.git.git_folders import git_folders, read_plain
from quintet.adapters.git.own_git import View, looking, ran
from quintet.adapters.protected.nofollow import looked
from quintet.adapters.sandbox.host_mounts import below
from quintet.domain.base.errors import ToolFailed

_REFUSED = ("ermission denied", "EACCES", "Errno 13")
_ADVICE = 'If it holds none, say so in your settings: not_secrets = ["%s"] under [protect]'
MOST_BYTES = 1_000_000  # a larger one is closed without being compared


class Covers(Struct, frozen=True):
    """Absolute paths. What is in neither is not covered."""

    closed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


def closed_files_met(closed: Sequence[str], output: str) -> list[str]:
    """What to say to somebody whose command could not open one of these."""
    if not any(word in output for word in _REFUSED):
        return []
    met = [name for name in closed if name in output]
    return [f"{name} is closed to commands: it may hold secrets. {_ADVICE % name}" for name in met[:3]]


class SecretCovers:
    """Asks git only when a secret file, the index, or what git ignores has changed since."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._stamp: object = None
        self._known = Covers()

    def of(self, secrets: Sequence[str], repositories: Sequence[str]) -> Covers:
        """`repositories` are the `.git` of the project, folders or files."""
        if not secrets:
            return Covers()
        tops = [os.path.dirname(git) for git in repositories]
        stamp = tuple(self._look(path) for path in (*secrets, *_deciding(tops)))
        if stamp != self._stamp:
            self._known = self._asked(secrets, tops)
            self._stamp = stamp
        return self._known

    def _look(self, path: str) -> tuple[str, int, int, int]:
        found = looked(self._root, os.path.relpath(path, self._root)) if below(path, self._root) else None
        if found is None:
            try:
                found = os.stat(path, follow_symlinks=False)
            except OSError:
                return path, 0, 0, 0
        return path, found.st_ino, found.st_ctime_ns, found.st_size

    def _asked(self, secrets: Sequence[str], tops: Sequence[str]) -> Covers:
        closed, empty = [], []
        for top in ("", *tops):
            ours = [path for path in secrets if _innermost(path, tops) == top]
            files = [path for path in ours if os.path.isfile(path) and not os.path.islink(path)]
            closed += [path for path in ours if path not in files]
            if not top:
                empty += files
            elif files:
                tracked, ignored = _sorted_by_git(top, files)
                empty += ignored
                closed += [path for path in files if path not in tracked and path not in ignored]
        return Covers(tuple(closed), tuple(empty))


def _deciding(tops: Sequence[str]) -> list[str]:
    """The files that decide what git tracks and ignores."""
    paths = []
    for top in tops:
        found = git_folders(top)
        paths += [os.path.join(top, ".gitignore")]
        paths += [os.path.join(found.own, "index"), os.path.join(found.common, "info/exclude")] if found else []
    return paths


def _innermost(path: str, tops: Sequence[str]) -> str:
    return max((top for top in tops if below(path, top)), key=len, default="")


def _sorted_by_git(top: str, files: Sequence[str]) -> tuple[set[str], list[str]]:
    """Those that are as git has them, and those that it ignores; none of either if git cannot say."""
    with looking(top) as view:
        if view is None:
            return set(), []
        names = {os.path.relpath(path, top): path for path in files}
        try:
            return _as_tracked(view, names), _ignored(view, names)
        except ToolFailed:
            return set(), []


def _as_tracked(view: View, names: dict[str, str]) -> set[str]:
    literal = {**view.variables, "GIT_LITERAL_PATHSPECS": "1"}
    listed = ran(view.argv(("ls-files", "-s", "-z", "--", *names)), literal, view.root)
    found = set()
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        about, _, name = entry.partition("\t")
        if name in names and about.split()[1] == _object_name(names[name], len(about.split()[1])):
            found.add(names[name])
    return found


def _object_name(path: str, length: int) -> str:
    """What git calls this content; empty for one that is too large to compare."""
    data = read_plain(path, MOST_BYTES)
    if not data and os.path.getsize(path):
        return ""
    import hashlib  # a lookup that only probes the sandbox does not pay for OpenSSL

    kind = hashlib.sha256 if length == 64 else hashlib.sha1
    return kind(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _ignored(view: View, names: dict[str, str]) -> list[str]:
    given = "\0".join(names).encode("utf-8", "surrogateescape")
    said = view.ask("check-ignore", "-z", "--stdin", given=given, accept=(0, 1))
    return [names[name] for name in said.decode("utf-8", "surrogateescape").split("\0") if name in names]
