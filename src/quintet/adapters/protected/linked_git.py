"""What of a repository lies elsewhere: the folders that a `.git` file leads to, and what its configuration includes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from quintet.adapters.files.paths import config_home
from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.git_folders import git_folders, is_plain, read_plain
from quintet.adapters.git.run_git import settings_in, user_paths
from quintet.adapters.sandbox.host_mounts import below

MOST_LINKS = 40  # as many as the kernel follows
MOST_CONFIG = 262_144  # bytes of a configuration
MOST_INCLUDED = 20
_FILES = ("config.worktree", "config")
_NAMING = ("hooks", "info")  # folders of what names programs


def ways_to(path: str, root: str, *, git: bool = False) -> list[str]:
    """Of the links that an absolute path leads through and of what it leads to, those in the project.

    What lies in a git folder is left out, unless `git`: most of it is git's to write.
    """
    found: list[str] = []
    at, links = "/", 0
    waiting = path.split("/")[::-1]
    while waiting:
        name = waiting.pop()
        if name in ("", "."):
            continue
        if name == "..":
            at = os.path.dirname(at)
            continue
        step = os.path.join(at, name)
        try:
            led = os.readlink(step)
        except OSError:
            at = step
            continue
        found.append(step)
        links += 1
        if links > MOST_LINKS:
            break
        at = "/" if led.startswith("/") else at
        waiting += led.split("/")[::-1]
    return [one for one in (*found, at) if one.startswith(root + "/") and (git or not _in_git(one, root))]


def _in_git(path: str, root: str) -> bool:
    return ".git" in path[len(root) :].split("/")


def links_in(folders: Iterable[str]) -> list[str]:
    """The links that stand directly in these folders."""
    found: list[str] = []
    for place in folders:
        try:
            with os.scandir(place) as entries:
                found += [entry.path for entry in entries if entry.is_symlink()]
        except OSError:
            continue
    return found


def linked(repository: str, root: str) -> tuple[str, ...]:
    """The git folders outside the project that a `.git` file in it leads to, the common one first; none if unproven."""
    found = git_folders(os.path.dirname(repository)) if is_plain(repository) else None
    return tuple(path for path in found.linked if not below(path, root)) if found else ()


def in_tree(repository: str, root: str) -> list[str]:
    """What git takes from the project's own files: hooks, and configuration, by links of its folder or by settings.

    `repository` is a `.git` of the project. Included files are followed, wherever they are, and so are links.
    """
    folders = _folders(repository)
    named = [*links_in(os.path.join(folder, name) for folder in folders for name in _NAMING)]
    parts = (os.path.join(folder, name) for folder in folders for name in (*_NAMING, *_FILES))
    named += filter(os.path.islink, parts)  # else it is held as a part of its folder
    named += _configured(os.path.dirname(repository), folders)
    named += links_in(path for path in named if path.startswith(root + "/"))  # a folder of hooks may hold some
    found = [way for path in named for way in ways_to(path, root, git=True)]
    found += [way for path in links_in(folders) for way in ways_to(path, root)]
    inside = [path for path in (*named, *found) if path.startswith(root + "/")]
    return [path for path in dict.fromkeys(inside) if path not in folders and not _is_part(path, folders)]


def _folders(repository: str) -> tuple[str, ...]:
    """The git folders of a `.git`: itself, or where a file leads that both ends know."""
    if not is_plain(repository):
        return (repository,)
    found = git_folders(os.path.dirname(repository))
    return found.linked if found else ()


def _is_part(path: str, folders: Iterable[str]) -> bool:
    """Whether it is held already, as what names programs in a git folder."""
    return any(path == os.path.join(folder, name) for folder in folders for name in (*_NAMING, *_FILES))


def _configured(top: str, folders: Iterable[str]) -> list[str]:
    """The paths that a repository's settings and the user's name, for hooks, more settings and new repositories."""
    home = os.path.expanduser("~")
    theirs = (*user_paths(), *_by_environment())
    waiting = [(base, theirs) for base in (home, os.path.join(config_home(), "git"))]
    for path in (os.path.join(folder, name) for folder in folders for name in _FILES):
        real = real_path(path) if os.path.islink(path) else path
        if _may_lead((real,)):
            said = settings_in(read_plain(real, MOST_CONFIG)) or ()
            waiting += [(base, said) for base in dict.fromkeys((os.path.dirname(path), os.path.dirname(real)))]
    found: list[str] = []
    for folder, settings in waiting:
        for name, value in settings:
            is_file = name.startswith("include") and name.endswith(".path")
            if not is_file and name not in ("core.hookspath", "init.templatedir"):
                continue
            path = os.path.normpath(os.path.join(folder if is_file else top, os.path.expanduser(value)))
            if is_file and path not in found and len(waiting) < MOST_INCLUDED:
                waiting.append((os.path.dirname(path), settings_in(read_plain(real_path(path), MOST_CONFIG)) or ()))
            found.append(path)
    return found


def _by_environment() -> tuple[tuple[str, str], ...]:
    """The same, by variables of the user's."""
    names = {"GIT_CONFIG_GLOBAL": "include.path", "GIT_CONFIG_SYSTEM": "include.path"}
    names["GIT_TEMPLATE_DIR"] = "init.templatedir"
    return tuple((said, os.environ[name]) for name, said in names.items() if os.path.isabs(os.environ.get(name, "")))


def hooks_in(root: str) -> tuple[str, ...]:
    """What `in_tree` finds for the repository at the root, relative; git is asked only if there may be any."""
    git = os.path.join(root, ".git")
    home = os.path.expanduser("~")
    usual = os.path.join(config_home(), "git", "config")
    files = (*(os.path.join(git, name) for name in _FILES), os.path.join(home, ".gitconfig"), usual)
    linked = links_in((git, *(os.path.join(git, name) for name in _NAMING)))
    if not _may_lead(files) and not linked and not _by_environment() and not is_plain(git):
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
