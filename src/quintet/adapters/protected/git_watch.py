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
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from quintet.adapters.git.git_folders import read_plain
from quintet.adapters.protected.linked_git import settings_of
from quintet.adapters.protected.nofollow import SETTLED_NS, link_number, stat_nofollow, text_of
from quintet.domain.base.lazy_regex import regex

HELD = (  # inside a git folder, also for a command that commits: what names programs, or other folders
    *("hooks", "config", "config.worktree", "info", "commondir", "gitdir"),
    *("objects/info/alternates", "objects/info/http-alternates"),
)
HELD_IN_WORKTREE = ("gitdir", "commondir", "config.worktree")
HELD_IN_PART = (*HELD_IN_WORKTREE, "info/alternates", "info/http-alternates")  # the same, and a folder of objects
MOST_HEAD = 4096  # bytes
_RUNS = re.compile(rb"^\s*(?:x|exec)\b.*$", re.M)
_UNFINISHED = ("rebase-merge/git-rebase-todo", "sequencer/todo")  # what `git rebase --continue` does next
Link = tuple[str, str]  # where it is, where it leads
_OBJECTS = frozenset({"pack", "info"})  # of the folder of objects, what is no single one
_MANY = frozenset({"lfs/objects", "annex/objects"})  # the same of other programs
_SOCKET = "fsmonitor--daemon.ipc"  # git's own
_IN_PLACE = ("_MSG", "_EDITMSG", "FETCH_HEAD")  # what git writes without making it anew; logs as well
# What `git init`, `clone`, `worktree add` and `submodule add` write into a configuration: nothing that names a program.
_PLAIN_SETTING = regex(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree)"
    r"|extensions\.(objectformat|refstorage|relativeworktrees)|remote\.[^\n]*\.(url|fetch|tagopt)"
    r"|branch\.[^\n]*\.(remote|merge|rebase)|submodule\.active|submodule\.[^\n]*\.(url|active)"
)
_UNPLAIN_FILES = ("commondir", "gitdir", "config.worktree", "info/attributes", "objects/info/alternates")


class GitWatch(Struct, frozen=True):
    """One git folder before a command."""

    base: str  # the folder below which links may have been made: the project, or the git folder itself
    git: str  # none: only `missing` and `taken`, outside the project
    missing: tuple[str, ...]
    inner: frozenset[str]  # the git folders of submodules, and those of worktrees, that are there
    unfinished: tuple[tuple[str, bytes], ...]  # what git does next, by where that is written
    taken: tuple[tuple[str, tuple[int, int]], ...] = ()  # what git takes from the project's files, with its number
    sealed: bool = False  # and only that
    hooks: frozenset[str] = frozenset()  # in their folders
    links: frozenset[Link] = frozenset()  # that stand in the git folder
    head: bytes = b""


def watch(base: str, git: str, taken: Sequence[str] = ()) -> GitWatch:
    modules = modules_in(git)
    trees = trees_in((git, *modules))
    places = held_in(git)
    missing = tuple(path for path in places if not os.path.lexists(path))
    return GitWatch(
        base,
        git,
        missing,
        frozenset((*modules, *trees)),
        tuple(_commands((git, *modules, *trees))),
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
    trees = trees_in((watched.git, *modules))
    yield from (tree for tree in trees if tree not in watched.inner and not is_worktree_as_git_makes(tree))
    before = dict(watched.unfinished)
    for path, now in _commands((watched.git, *modules, *trees)):
        if now and now != before.get(path):
            yield os.path.dirname(path)


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
    return link_number(found.st_dev, found.st_ino, os.readlink(path))


def held_in(git: str, names: Sequence[str] = HELD) -> list[str]:
    """What no command writes in a git folder, in those of its submodules, and of the worktrees of each.

    `names` are those in the folder itself, where it is a part of one.
    """
    modules = modules_in(git)
    folders = (git, *modules)
    places = [os.path.join(git, name) for name in names]
    places += [os.path.join(module, name) for module in modules for name in HELD]
    return [*places, *(os.path.join(tree, name) for tree in trees_in(folders) for name in HELD_IN_WORKTREE)]


def trees_in(folders: Sequence[str]) -> list[str]:
    """What git keeps of worktrees in these git folders."""
    return [tree for folder in folders for tree in listed(os.path.join(folder, "worktrees"))]


def modules_in(git: str) -> list[str]:
    """The git folders of submodules, which live inside the one of their project: a worktree of it has its own."""
    found: list[str] = []
    waiting = [git]
    while waiting:
        folder = waiting.pop()
        for above in (folder, *trees_in((folder,))):
            inner = _modules_below(os.path.join(above, "modules"))
            found += inner
            waiting += inner
    return found


def _modules_below(place: str) -> list[str]:
    """The first git folders on each way down; through no link."""
    found: list[str] = []
    if os.path.islink(place) or os.path.islink(os.path.dirname(place)):
        return found
    for path, folders, files in os.walk(place):
        if {"HEAD", "config", "commondir"} & {*files, *folders}:
            found.append(path)
            folders.clear()
    return found


def listed(folder: str) -> Sequence[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return ()


def _commands(folders: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The lines of each unfinished work of git's that run a program; a line for each that cannot be read."""
    for path in (os.path.join(folder, name) for folder in folders for name in _UNFINISHED):
        data = read_plain(path)
        if not data and os.path.lexists(path) and os.lstat(path).st_size:
            data = b"exec?"
        if lines := b"\n".join(_RUNS.findall(data)):
            yield path, lines


def links_in(git: str) -> Iterator[Link]:
    """Every link of a git folder, and those of its worktrees and submodules, which lie in it; git makes none.

    What git writes next would go where they lead: it writes its messages, its logs and some of its references into
    what is there, through a link too. Pipes would keep it waiting, and a second name for one of those files is a link
    as well. Nothing below the single objects is looked at. A folder is read again only when its time of change is
    another.
    """
    waiting = [git]
    while waiting:
        path = waiting.pop()
        below, links = _look(path)
        yield from ((os.path.join(path, name), led) for name, led in links if not _is_head(git, path, name, led))
        waiting += [os.path.join(path, name) for name in below if not _is_many(path, name)]


def _is_many(folder: str, name: str) -> bool:
    above, last = os.path.split(folder)
    return (last == "objects" and name not in _OBJECTS) or f"{os.path.basename(above)}/{last}" in _MANY


def _is_head(git: str, folder: str, name: str, led: str) -> bool:
    """HEAD as core.preferSymlinkRefs has it: it leads to a branch of this folder."""
    return name == "HEAD" and folder == git and led.startswith("refs/heads/") and ".." not in led.split("/")


def _look(path: str) -> tuple[tuple[str, ...], tuple[Link, ...]]:
    now = time.time_ns()
    try:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            return (), ()
        settled = now - found.st_ctime_ns > SETTLED_NS
        return (_read if settled else _read.__wrapped__)(path, found.st_dev, found.st_ino, found.st_ctime_ns)
    except OSError:  # gone, or closed: git cannot write there either
        return (), ()


@lru_cache(8192)
def _read(path: str, _device: int, _number: int, _stamp: int) -> tuple[tuple[str, ...], tuple[Link, ...]]:
    """The folders in a folder, and the links."""
    below, links = [], []
    logs = "logs" in path.split("/")
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            if entry.is_symlink():
                links.append((name, os.readlink(entry.path)))
            elif entry.is_dir(follow_symlinks=False):
                below.append(name)
            elif not entry.is_file(follow_symlinks=False):
                links += [] if name == _SOCKET else [(name, "")]
            elif (logs or name.endswith(_IN_PLACE)) and (one := entry.stat(follow_symlinks=False)).st_nlink > 1:
                links.append((name, f"{one.st_dev}:{one.st_ino}"))
    return tuple(below), tuple(links)


def as_git_makes(root: str, repository: str) -> bool:
    """Whether a `.git` that appeared is one that git made: no hook, no setting that names a program, no way elsewhere.

    A `.git` file leads to a folder that an older repository of this project keeps for it, and that one leads back.
    """
    found = stat_nofollow(root, os.path.relpath(repository, root))
    if found is None:
        return False
    if stat.S_ISDIR(found.st_mode):
        return is_as_git_makes(repository) and not os.path.lexists(os.path.join(repository, "worktrees"))
    words = text_of(os.path.dirname(repository), ".git", 4096).strip()
    if not words.startswith("gitdir:"):
        return False
    own = os.path.normpath(os.path.join(os.path.dirname(repository), words.removeprefix("gitdir:").strip()))
    if not own.startswith(root + "/") or stat_nofollow(root, os.path.relpath(own, root)) is None:
        return False
    above, kind = os.path.split(os.path.dirname(own))
    if kind == "worktrees":
        back = text_of(own, "gitdir", 4096).strip()
        return os.path.normpath(os.path.join(own, back)) == repository and is_worktree_as_git_makes(own)
    if "/.git/modules/" not in own or not above:
        return False
    trees = [value for name, value in settings_of(own) or () if name == "core.worktree"]
    same = [os.path.normpath(os.path.join(own, tree)) == os.path.dirname(repository) for tree in trees]
    return same == [True] and is_as_git_makes(own, submodule=True)


def is_as_git_makes(git: str, *, submodule: bool = False) -> bool:
    """Whether a git folder, with those of its submodules, holds nothing that names a program or another folder."""
    if any(os.path.lexists(os.path.join(git, name)) for name in _UNPLAIN_FILES):
        return False
    hooks = os.path.join(git, "hooks")
    if os.path.islink(hooks) or (os.path.isdir(hooks) and any(name[-7:] != ".sample" for name in os.listdir(hooks))):
        return False
    settings = settings_of(git)
    if settings is None or any(links_in(git)) or any(_commands((git,))):
        return False
    for name, value in settings:
        if not _PLAIN_SETTING.fullmatch(name) or value.startswith("ext::"):
            return False
        if name == "core.worktree" and not submodule:
            return False
    return all(is_as_git_makes(module, submodule=True) for module in modules_in(git))


def is_worktree_as_git_makes(own: str) -> bool:
    """The same for what `git worktree add` makes in the folder of its repository."""
    plain = not os.path.lexists(os.path.join(own, "config.worktree")) and not any(_commands((own,)))
    return plain and text_of(own, "commondir", 4096).strip() == "../.."
