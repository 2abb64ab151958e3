"""What commands in a worktree of Quintet's may write of its repository: objects, the worktree's own folder, and one
branch.

The branch's ref is a copy in a folder of our own, which a sandbox lays over the repository's: where a command has left
it, the branch follows after the command, from where it was. Every other ref, HEAD, the packed refs and the
configuration are the repository's, and stay as they are.
"""

from __future__ import annotations

import contextlib
import os
import threading

from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.git_folders import GitFolders, git_folders, read_plain
from quintet.adapters.git.run_git import repository_view
from quintet.adapters.git.worktrees import branch_for
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.lazy_regex import regex

MOST_REF = 200  # bytes
_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def branch_of_worktree(places: Places) -> str:
    """The one branch that commands may move there; empty: it is the user's own work tree, and any may be."""
    return branch_for(os.path.basename(places.root)) if places.worktree_of else ""


class OwnBranch:
    """Of one session in a worktree. `refs` and `logs` are the folders that stand for those of its branch."""

    def __init__(self, root: str, branch: str, refs: str, logs: str) -> None:
        self._root = root
        self._ref = f"refs/heads/{branch}"
        self._copy = os.path.join(refs, os.path.basename(branch))
        self._refs, self._logs = refs, logs
        self._known = ""  # where the repository has the branch
        self._lock = threading.Lock()

    def begin(self, found: GitFolders) -> list[tuple[str, str]]:
        """Before a command: what it may write in place of which folders. ToolFailed where that cannot be given."""
        above = os.path.dirname(self._ref)
        places = [os.path.join(found.common, above), os.path.join(found.common, "logs", above)]
        for place in places:
            if real_path(place) != os.path.normpath(place):
                raise ToolFailed(f"{place} leads through a link, so this task's branch cannot be kept apart; remove it")
            os.makedirs(place, exist_ok=True)
        with self._lock:
            self._follow()
            self._known = self._at(found)
            if self._known and self._left() != self._known:
                self._write(self._known)
        objects = os.path.join(found.common, "objects")
        return [(objects, objects), (found.own, found.own), *zip((self._refs, self._logs), places, strict=True)]

    def settle(self) -> None:
        """After a command: the branch follows to where it was left."""
        with self._lock:
            self._follow()

    def _follow(self) -> None:
        left = self._left()
        if not self._known or left == self._known or not _COMMIT.fullmatch(left) or not left.strip("0"):
            return
        with contextlib.suppress(ToolFailed), repository_view(self._root) as view:  # no commit, or moved meanwhile
            if view is not None:
                view.ask("update-ref", "--no-deref", "-m", "quintet: a command", self._ref, left, self._known)
                self._known = left

    def _left(self) -> str:
        return read_plain(self._copy, MOST_REF).decode("utf-8", "replace").strip()

    def _at(self, found: GitFolders) -> str:
        loose = read_plain(os.path.join(found.common, self._ref), MOST_REF).decode("utf-8", "replace").strip()
        if _COMMIT.fullmatch(loose):
            return loose
        with repository_view(self._root) as view:
            asked = ("rev-parse", "--verify", "--quiet", self._ref)
            return view.ask(*asked, accept=(0, 1)).decode().strip() if view else ""

    def _write(self, commit: str) -> None:
        new = f"{self._copy}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644), "w") as file:
            file.write(f"{commit}\n")
        os.replace(new, self._copy)


def own_folders(root: str) -> GitFolders | None:
    """The git folders of a worktree, if it is one of a repository elsewhere."""
    found = git_folders(root)
    return found if found and found.own != found.common else None
