"""What of a repository lies elsewhere: the folders that a `.git` file leads to, and what its configuration includes."""

from __future__ import annotations

import os

from quintet.adapters.git_folders import git_folders, is_plain, read_plain
from quintet.adapters.own_git import settings_in
from quintet.adapters.sandbox.machine import below

MOST_CONFIG = 262_144  # bytes of a configuration


def linked(repository: str, root: str) -> tuple[str, ...]:
    """The git folders outside the project that a `.git` file in it leads to, the common one first; none if unproven."""
    found = git_folders(os.path.dirname(repository)) if is_plain(repository) else None
    return tuple(path for path in found.linked if not below(path, root)) if found else ()


def in_tree(repository: str, root: str) -> list[str]:
    """What a repository's configuration takes from the project's own files: its hooks, and more configuration."""
    found = []
    for name, value in settings_of(repository) or ():
        if name == "core.hookspath":
            found.append(os.path.normpath(os.path.join(os.path.dirname(repository), value)))
        elif name.startswith("include") and name.endswith(".path"):
            found.append(os.path.normpath(os.path.join(repository, value)))
    return [path for path in found if path.startswith(root + "/")]


def settings_of(git: str) -> tuple[tuple[str, str], ...] | None:
    """What the configuration files of a git folder set, as git reads them; None if one of them cannot be read.

    Included files are not looked at.
    """
    found: tuple[tuple[str, str], ...] = ()
    for name in ("config.worktree", "config"):
        path = os.path.join(git, name)
        if not os.path.lexists(path):
            continue
        data = read_plain(path, MOST_CONFIG)
        if not is_plain(path) or (not data and os.lstat(path).st_size) or (said := settings_in(data)) is None:
            return None
        found += said
    return found
