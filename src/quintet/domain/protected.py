"""Paths no call may write, and paths no call may read, whatever the profile.

Works on paths relative to the project root, `/`-separated and normalised; matching is by name, so a path is judged
before it is opened and again by whatever contains the call.
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase

NO_WRITE = (
    ".git/hooks",
    ".git/config",
    ".git/info",
    ".quintet/settings.toml",
    ".quintet/prompts",
    ".quintet/tools",
)
HOLDERS = ("/.git", "/.quintet")  # folders that hold protected paths
NO_READ_NAMES = (".env", ".env.*", "*.pem", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc")
READABLE_ANYWAY = (".env.example", ".env.sample", ".env.template", "*.pub")
NO_READ_FOLDERS = (".ssh", ".aws")


def is_secret(path: str) -> bool:
    """Whether reading `path` (relative or absolute) would show a secret."""
    parts = [part for part in path.split("/") if part]
    if not parts:
        return False
    if any(part in NO_READ_FOLDERS for part in parts[:-1]) or parts[-1] in NO_READ_FOLDERS:
        return True
    name = parts[-1].lower()
    if any(fnmatchcase(name, pattern) for pattern in READABLE_ANYWAY):
        return False
    return any(fnmatchcase(name, pattern) for pattern in NO_READ_NAMES)


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
