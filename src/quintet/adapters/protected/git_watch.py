"""What appears inside a git folder while a command may write it, and names programs or other folders.

What is there is mounted read-only; what is not there yet cannot be. So it is noted beforehand what there is, and looked
at afterwards what has come: git makes submodules, worktrees and unfinished rebases too, and those may stay if they are
as git makes them.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Sequence

from msgspec import Struct

from quintet.adapters.files.paths import key_of
from quintet.adapters.protected.git_links import Link, links_in

HELD = (  # inside a git folder, also for a command that commits: what names programs, or other folders
    *("hooks", "config", "config.worktree", "info", "commondir", "gitdir"),
    *("objects/info/alternates", "objects/info/http-alternates"),
)
MOST_HEAD = 4096  # bytes
HELD_IN_WORKTREE = ("gitdir", "commondir", "config.worktree")
_RUNS = re.compile(rb"^\s*(?:x|exec)\b.*$", re.M)
_UNFINISHED = ("rebase-merge/git-rebase-todo", "sequencer/todo")  # what `git rebase --continue` does next


class GitWatch(Struct, frozen=True):
    """One git folder before a command."""

    base: str  # the folder below which links may have been made: the project, or the git folder itself
    git: str  # none: only `missing` and `taken`, outside the project
    missing: tuple[str, ...]
    inner: frozenset[str]  # the git folders of submodules, and those of worktrees, that are there
    unfinished: tuple[bytes, ...]
    taken: tuple[tuple[str, tuple[int, int]], ...] = ()  # what git takes from the project's files, with its number
    sealed: bool = False  # and only that
    hooks: frozenset[str] = frozenset()  # in their folders
    links: frozenset[Link] = frozenset()  # that stand in the git folder
    head: bytes = b""


def watch(base: str, git: str, taken: Sequence[str] = ()) -> GitWatch:
    from quintet.adapters.git.git_folders import read_plain

    modules = modules_in(git)
    trees = [tree for folder in (git, *modules) for tree in listed(os.path.join(folder, "worktrees"))]
    places = [os.path.join(folder, name) for folder in (git, *modules) for name in HELD]
    places += [os.path.join(tree, name) for tree in trees for name in HELD_IN_WORKTREE]
    missing = tuple(path for path in places if not os.path.lexists(path))
    return GitWatch(
        base,
        git,
        missing,
        frozenset((*modules, *trees)),
        tuple(_commands(git)),
        tuple((path, _number(path)) for path in (*taken, *(path for path in places if _is_folder(path)))),
        hooks=frozenset(_hooks((git, *modules))),
        links=frozenset(links_in(git)),
        head=read_plain(os.path.join(git, "HEAD"), MOST_HEAD),
    )


def watch_taken(base: str, git: str, taken: Sequence[str]) -> GitWatch:
    """Of a git folder that cannot be written: only what git takes from the project's files."""
    return GitWatch(base, git, (), frozenset(), (), tuple((path, _number(path)) for path in taken), sealed=True)


def watch_held(held: Sequence[str]) -> GitWatch:
    """What a program may not make in a home of its own, and links that it may not replace: the rest is mounted."""
    missing = tuple(path for path in held if not os.path.lexists(path))
    links = tuple((path, _number(path)) for path in held if os.path.islink(path))
    return GitWatch("", "", missing, frozenset(), (), links)


def appeared_in(watched: GitWatch) -> Iterator[str]:
    """What has come since and is not to stay."""
    from quintet.adapters.protected.moved_aside import is_as_git_makes, is_worktree_as_git_makes

    yield from (path for path in watched.missing if os.path.lexists(path))
    yield from (path for path, number in watched.taken if os.path.lexists(path) and _number(path) != number)
    if watched.sealed or not watched.git:
        return
    # What names programs is mounted read-only in bubblewrap; elsewhere a command can replace it by a link too.
    yield from (link[0] for link in links_in(watched.git) if link not in watched.links)
    modules = modules_in(watched.git)
    yield from (path for path in _hooks((watched.git, *modules)) if path not in watched.hooks)
    for module in modules:
        if module not in watched.inner and not is_as_git_makes(module, submodule=True):
            yield module
    for folder in (watched.git, *modules):
        for tree in listed(os.path.join(folder, "worktrees")):
            if tree not in watched.inner and not is_worktree_as_git_makes(tree):
                yield tree
    for name, before, now in zip(_UNFINISHED, watched.unfinished, _commands(watched.git), strict=True):
        if now and now != before:
            yield os.path.join(watched.git, os.path.dirname(name))


def _hooks(folders: Sequence[str]) -> Iterator[str]:
    """The hooks of these git folders that git would run; those in a new git folder are judged with it."""
    for folder in folders:
        above = os.path.join(folder, "hooks")
        if _is_folder(above):
            yield from (path for path in listed(above) if not path.endswith(".sample"))


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def put_head_back(watched: GitWatch) -> None:
    """Without HEAD a git folder is none, and git would take the next one above it."""
    path = os.path.join(watched.git, "HEAD")
    if watched.head and not os.path.lexists(path):
        with contextlib.suppress(OSError), open(path, "xb") as file:
            file.write(watched.head)


def _number(path: str) -> tuple[int, int]:
    """Which file this is; nobody's if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return (0, 0)
    if not stat.S_ISLNK(found.st_mode):
        return found.st_dev, found.st_ino
    led = os.readlink(path)  # another link can get the number of one that is gone
    return found.st_dev, found.st_ino ^ int(key_of(led), 16) >> 2


def modules_in(git: str) -> list[str]:
    """The git folders of submodules, which live inside the one of their project."""
    found: list[str] = []
    for path, folders, files in os.walk(os.path.join(git, "modules")):
        if {"HEAD", "config", "commondir"} & {*files, *folders}:
            found.append(path)
            folders[:] = [name for name in folders if name == "modules"]
    return found


def listed(folder: str) -> Sequence[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return ()


def _commands(git: str) -> Iterator[bytes]:
    """The lines of each unfinished work of git's that run a program; a line for each that cannot be read."""
    from quintet.adapters.git.git_folders import read_plain

    for name in _UNFINISHED:
        path = os.path.join(git, name)
        data = read_plain(path)
        if not data and os.path.lexists(path) and os.lstat(path).st_size:
            data = b"exec?"
        yield b"\n".join(_RUNS.findall(data))
