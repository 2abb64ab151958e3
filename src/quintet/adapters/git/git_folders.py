"""The git folders of a work tree, found without running git, and trusted only if both ends point to each other.

A `.git` that is a file, as in worktrees and submodules, leads anywhere its writer likes: it counts only if the folder
it leads to says that this work tree is its own. A folder named `.git` is what it is; a `commondir` in it, or a link in
place of one of its parts, is not followed.
"""

from __future__ import annotations

import os
import stat

from msgspec import Struct

from quintet.adapters.files.real_path import real_path
from quintet.domain.git.plain_git import branch_of, work_tree_of

MOST_BYTES = 4_000_000  # of a file that is read here


class GitFolders(Struct, frozen=True):
    own: str  # of this work tree: HEAD and index
    common: str  # of all its work trees: objects, refs and configuration

    @property
    def linked(self) -> tuple[str, ...]:
        return (self.common,) if self.own == self.common else (self.common, self.own)


def git_folders(root: str) -> GitFolders | None:
    """The git folders of the work tree at `root`; None if it has none that can be trusted."""
    dot = os.path.join(root, ".git")
    if os.path.islink(dot):
        return None
    found = GitFolders(dot, dot) if os.path.isdir(dot) else _led_to(dot, root)
    return found if found and _whole(found) else None


def _led_to(dot: str, root: str) -> GitFolders | None:
    own = _pointed(dot, "gitdir:")
    if not own:
        return None
    own = real_path(os.path.join(root, own))
    if os.path.lexists(os.path.join(own, "commondir")):
        common = real_path(os.path.join(own, _pointed(os.path.join(own, "commondir"))))
        back = _pointed(os.path.join(own, "gitdir"))
        known = os.path.dirname(own) == os.path.join(common, "worktrees")
        return GitFolders(own, common) if known and back and _same(os.path.join(own, back), dot) else None
    back = work_tree_of(read_plain(os.path.join(own, "config")).decode("utf-8", "surrogateescape"))
    return GitFolders(own, own) if back and _same(os.path.join(own, back), root) else None


def _whole(found: GitFolders) -> bool:
    """Whether everything is there and itself: a link could lead to another repository."""
    parts = [os.path.join(found.common, "objects"), os.path.join(found.common, "refs")]
    real = all(os.path.isdir(path) and not os.path.islink(path) for path in parts)
    return real and is_plain(os.path.join(found.own, "HEAD"))


def is_plain(path: str) -> bool:
    """A file, and neither a link nor something that would not end."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def read_plain(path: str, most: int = MOST_BYTES) -> bytes:
    """The content of a plain file; empty if it is none, or a larger one."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            return b""
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(min(most, about.st_size + 1))
    except OSError:
        return b""
    finally:
        os.close(handle)


def _pointed(path: str, word: str = "") -> str:
    """The path that a file of one line holds, after a word."""
    text = read_plain(path, 4096).decode("utf-8", "surrogateescape").strip()
    return text.removeprefix(word).strip() if text.startswith(word) and "\n" not in text and "\0" not in text else ""


def _same(one: str, other: str) -> bool:
    return real_path(one) == real_path(other)


def branch_name(root: str) -> str:
    """The branch as git's own file names it, without asking git; empty outside a repository."""
    found = git_folders(root)
    if found is None:
        return ""
    return branch_of(read_plain(os.path.join(found.own, "HEAD"), 4096).decode("utf-8", "replace"))
