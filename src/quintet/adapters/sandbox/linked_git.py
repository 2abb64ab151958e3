"""What of a repository lies elsewhere: the folders that a `.git` file leads to, and what its configuration includes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from quintet.adapters.git_folders import git_folders, is_plain, read_plain
from quintet.adapters.own_git import settings_in, user_paths
from quintet.adapters.places import config_home
from quintet.adapters.sandbox.machine import below

MOST_CONFIG = 262_144  # bytes of a configuration
MOST_INCLUDED = 20
_FILES = ("config.worktree", "config")


def linked(repository: str, root: str) -> tuple[str, ...]:
    """The git folders outside the project that a `.git` file in it leads to, the common one first; none if unproven."""
    found = git_folders(os.path.dirname(repository)) if is_plain(repository) else None
    return tuple(path for path in found.linked if not below(path, root)) if found else ()


def in_tree(repository: str, root: str) -> list[str]:
    """What git takes from the project's own files because a configuration says so: hooks, and more configuration.

    `repository` is a `.git` of the project. Included files are followed, wherever they are, and so are links.
    """
    files, theirs = [os.path.realpath(os.path.join(repository, name)) for name in _FILES], user_paths()
    found = [*_links_in(repository), *(os.path.expanduser(path) for name, path in theirs if name != "core.hookspath")]
    own: tuple[tuple[str, str], ...] = ()
    for path in files if _may_lead(files) else ():
        own += settings_in(read_plain(path, MOST_CONFIG)) or ()
    waiting = [(repository, own), ("", tuple(one for one in theirs if one[0] == "core.hookspath"))]
    for folder, settings in waiting:
        for name, value in settings:
            if name == "core.hookspath":
                found.append(os.path.normpath(os.path.join(os.path.dirname(repository), os.path.expanduser(value))))
            elif name.startswith("include") and name.endswith(".path") and len(waiting) < MOST_INCLUDED:
                path = os.path.normpath(os.path.join(folder, os.path.expanduser(value)))
                found.append(path)
                waiting.append((os.path.dirname(path), settings_in(read_plain(path, MOST_CONFIG)) or ()))
    for path in list(found):  # a folder of hooks may be a link, or hold some
        if path.startswith(root + "/"):
            found += [os.path.realpath(path), *_links_in(path, deep=False)]
    return [path for path in dict.fromkeys(found) if path.startswith(root + "/")]


def _links_in(folder: str, *, deep: bool = True) -> list[str]:
    """Where links in a git folder, or in a folder of hooks, lead."""
    found = []
    for place in (folder, *(os.path.join(folder, name) for name in ("hooks", "info") if deep)):
        try:
            with os.scandir(place) as entries:
                found += [os.path.realpath(entry.path) for entry in entries if entry.is_symlink()]
        except OSError:
            continue
    return found


def hooks_in(root: str) -> tuple[str, ...]:
    """What `in_tree` finds for the repository at the root, relative; git is asked only if there may be any."""
    git = os.path.join(root, ".git")
    home = os.path.expanduser("~")
    usual = os.path.join(config_home(), "git", "config")
    files = (*(os.path.join(git, name) for name in _FILES), os.path.join(home, ".gitconfig"), usual)
    if not _may_lead(files) and not _links_in(git):
        return ()
    return tuple(os.path.relpath(path, root) for path in in_tree(git, root))


def _may_lead(files: Iterable[str]) -> bool:
    """Whether a configuration could name hooks or another file: names of settings are written out in it, so git, which
    takes milliseconds, need not be asked where these are not."""
    words = b"".join(read_plain(path, MOST_CONFIG) for path in files).lower()
    return any(name in words for name in (b"hookspath", b"include", b"templatedir"))


def settings_of(git: str) -> tuple[tuple[str, str], ...] | None:
    """What the configuration files of a git folder set, as git reads them; None if one of them cannot be read.

    Included files are not looked at.
    """
    found: tuple[tuple[str, str], ...] = ()
    for name in _FILES:
        path = os.path.join(git, name)
        if not os.path.lexists(path):
            continue
        data = read_plain(path, MOST_CONFIG)
        if not is_plain(path) or (not data and os.lstat(path).st_size) or (said := settings_in(data)) is None:
            return None
        found += said
    return found
