"""Paths no call may write, and paths no call may read, whatever the profile.

Works on paths relative to the project root or absolute, `/`-separated; matching is by name, so a path is judged before
it is opened and again by whatever contains the call. What is secret can be added to, and excepted from, by settings.
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase

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
        parts = [part for part in path.split("/") if part]
        if not parts:
            return False
        if not self.folders_free(parts):
            return True
        name = parts[-1].lower()
        if any(fnmatchcase(name, pattern) for pattern in self.readable):
            return False
        return any(fnmatchcase(name, pattern) for pattern in self.names)

    def folders_free(self, parts: list[str]) -> bool:
        return not any(part in self.folders for part in parts)

    def with_settings(self, secrets: tuple[str, ...], not_secrets: tuple[str, ...]) -> Protection:
        return Protection(
            self.names + tuple(name.lower() for name in secrets),
            self.readable + tuple(name.lower() for name in not_secrets),
            self.folders,
        )


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
    if path[:1] == "~":
        return None
    whole = posixpath.normpath(posixpath.join(root, path))
    if whole == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return whole[len(prefix) :] if whole.startswith(prefix) else None
