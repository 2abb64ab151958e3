"""Paths no call may write, and paths no call may read, whatever the profile.

Works on paths relative to the project root or absolute, `/`-separated; matching is by name, so a path is judged before
it is opened and again by whatever contains the call. What is secret can be added to, and excepted from, by settings.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from fnmatch import translate
from functools import cache

from msgspec import Struct

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


class Protection(Struct, frozen=True):
    """What counts as a secret: file names as patterns, and folders all of whose content is."""

    names: tuple[str, ...] = (
        ".env",
        ".env.*",
        "*.pem",
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        ".netrc",
    )
    readable: tuple[str, ...] = (".env.example", ".env.sample", ".env.template", "*.pub")
    folders: tuple[str, ...] = (".ssh", ".aws")

    def is_secret(self, path: str) -> bool:
        """Whether reading `path` (relative or absolute) would show a secret."""
        parts = path.split("/")
        if any(folder in parts for folder in self.folders):
            return True
        name = (parts[-1] or path.rstrip("/").rpartition("/")[2]).lower()
        return bool(_any_of(self.names)(name)) and not _any_of(self.readable)(name)

    def with_settings(self, secrets: tuple[str, ...], not_secrets: tuple[str, ...]) -> Protection:
        return Protection(
            self.names + tuple(name.lower() for name in secrets),
            self.readable + tuple(name.lower() for name in not_secrets),
            self.folders,
        )


@cache
def _any_of(patterns: tuple[str, ...]) -> Callable[[str], object]:
    """Whether a name fits one of the patterns: one expression, for the gate asks for every word of a line."""
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)").match


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
