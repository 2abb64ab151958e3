"""Paths no call may write, and paths no call may read, whatever the profile.

Works on paths relative to the project root or absolute, `/`-separated; matching is by name, so a path is judged before
it is opened and again by whatever contains the call. What is secret can be added to, and excepted from, by settings.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from fnmatch import translate
from functools import cached_property
from itertools import pairwise

from msgspec import Struct

from quintet.domain.regex import regex
from quintet.domain.secret_files import READABLE, SECRET_FOLDERS, SECRET_NAMES, SECRET_PATHS

NO_WRITE = (
    ".git/hooks",
    ".git/config",
    ".git/info",
    ".quintet/settings.toml",
    ".quintet/prompts",
    ".quintet/tools",
    ".quintet/agents",
)
GIT_KEPT = ("hooks", "config", "info")  # inside a git folder; what they hold can run programs
QUINTET_KEPT = ("settings.toml", "prompts", "tools", "agents")  # inside .quintet
HOLDERS = ("/.git", "/.quintet")  # folders that hold protected paths


class Protection(Struct, frozen=True, dict=True):
    """What counts as a secret: file names as patterns, and folders all of whose content is."""

    names: tuple[str, ...] = SECRET_NAMES
    readable: tuple[str, ...] = READABLE
    folders: tuple[str, ...] = SECRET_FOLDERS

    def is_secret(self, path: str) -> bool:
        """Whether reading `path` (relative or absolute) would show a secret."""
        folded = path.lower()
        if self.is_secret_folder(folded):
            return True
        name = folded.rstrip("/").rpartition("/")[2]
        return self._fits(name) and not self._excepted(name)

    def is_secret_folder(self, path: str) -> bool:
        """Whether everything in a folder is secret, or what a path leads to is, by the folder that it is in."""
        parts = path.lower().split("/")
        if self._above.isdisjoint(parts):
            return False
        if any(folder in parts for folder in self.folders):
            return True
        return any(pair in _PAIRS for pair in pairwise(parts)) and not self._excepted(parts[-1])

    @cached_property
    def _fits(self) -> Callable[[str], bool]:
        return _any_of(self.names)

    @cached_property
    def _excepted(self) -> Callable[[str], bool]:
        return _any_of(self.readable)

    @cached_property
    def _above(self) -> frozenset[str]:
        """One of these stands in every path that is secret by its folder."""
        return frozenset((*self.folders, *(parent for parent, _ in _PAIRS)))

    def in_code(self, word: str) -> bool:
        """Whether a word of code names a secret; `event.key` and `config.env` are values there, and no files."""
        return self.is_secret(word) and not _VALUE.fullmatch(word)

    def with_settings(self, secrets: tuple[str, ...], not_secrets: tuple[str, ...]) -> Protection:
        return Protection(
            self.names + tuple(name.lower() for name in secrets),
            self.readable + tuple(name.lower() for name in not_secrets),
            self.folders,
        )


def _any_of(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a name fits one of the patterns; the gate asks for every word of a line, a scan for every file."""
    plain = [pattern for pattern in patterns if _WILD.isdisjoint(pattern)]
    ends = tuple(p[1:] for p in patterns if p[:1] == "*" and _WILD.isdisjoint(p[1:]))
    starts = tuple(p[:-1] for p in patterns if p[-1:] == "*" and _WILD.isdisjoint(p[:-1]))
    known = {*plain, *(f"*{end}" for end in ends), *(f"{start}*" for start in starts)}
    others = "|".join(translate(pattern) for pattern in patterns if pattern not in known)
    match = re.compile(others or r"(?!)").match
    names = frozenset(plain)
    return lambda name: name in names or name.endswith(ends) or name.startswith(starts) or bool(match(name))


_WILD = frozenset("*?[")
_PAIRS = frozenset(tuple(path.split("/")) for path in SECRET_PATHS)
_VALUE = regex(r"[A-Za-z_$][\w$]*(?:\.[\w$]+)*\.(?:env|key)")
PROTECTION = Protection()


def is_write_protected(path: str) -> bool:
    """Whether `path`, relative to the project root, may never be written by a call."""
    folded = f"/{path.strip('/').lower()}/"
    if folded.rstrip("/").endswith(HOLDERS):  # moving or replacing the folder would move what is in it
        return True
    return any(f"/{guarded}/" in folded for guarded in NO_WRITE)


def inside(path: str, root: str) -> str | None:
    """`path` relative to `root` if it names something inside it (`.` for the root itself), else None.

    A path that a shell would begin with somebody's home is never inside.
    """
    first = path[:1]
    if first == "~":
        return None
    if first not in ("/", ".", "") and "/." not in path and "//" not in path and path[-1] != "/":
        return path  # the usual case, and the gate has many of them
    whole = posixpath.normpath(posixpath.join(root, path))
    if whole == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return whole[len(prefix) :] if whole.startswith(prefix) else None
