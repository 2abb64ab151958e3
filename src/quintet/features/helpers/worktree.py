"""Where a helper that writes works: a git worktree and a branch of its own, from the last commit of its parent's tree.

What it changed is one commit on that branch when it ends; the worktree goes, the branch stays. A helper that changed
nothing leaves no branch.
"""

from __future__ import annotations

import os
from shutil import rmtree

from quintet.adapters.files.paths import Places
from quintet.adapters.git.worktrees import Worktrees, branch_for
from quintet.domain.base.errors import ToolFailed

PREFIX = "helper-"  # of the names of worktrees, before the helper's session


def name_of(session: str) -> str:
    return f"{PREFIX}{session}"


class HelperTree:
    """Every method blocks on git."""

    def __init__(self, places: Places, session: str) -> None:
        self._trees = Worktrees(places.tasks_root)
        self._from = Worktrees(places.root)
        self._name = name_of(session)
        self.places = places.helper_tree(self._name)
        self.branch = branch_for(self._name)

    def make(self, *, known: bool) -> None:
        """The worktree, as it was left or new; ToolFailed where there can be none."""
        path = self.places.root
        if known and self._trees.is_whole(self._name, path):
            return
        base = self._from.commit_of("HEAD")
        if not base:
            raise ToolFailed("a helper that writes needs a git repository with a commit: let it only read, or commit")
        kept = self._trees.commit_of(f"refs/heads/{self.branch}") if known else ""
        rmtree(path, ignore_errors=True)
        self._trees.make(self._name, path, kept or base)

    def keep(self, title: str) -> str:
        """The branch that has its changes; empty if it made none."""
        path = self.places.root
        if not os.path.isdir(path):
            return self.branch if self._trees.commit_of(f"refs/heads/{self.branch}") else ""
        before = self._trees.commit_of(f"refs/heads/{self.branch}")
        head = self._trees.keep(self._name, path, title)
        changed = bool(self._trees.changed(self._from.commit_of("HEAD"), head)) or head != before
        self._trees.remove(self._name, path, branch=not changed)
        rmtree(path, ignore_errors=True)
        return self.branch if changed else ""
