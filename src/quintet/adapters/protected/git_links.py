"""Links that stand in a git folder, where git makes none: what git writes next would go where they lead.

Git writes its messages, its logs and some of its references into what is there, through a link too. Pipes would keep it
waiting, and a second name for one of those files is a link as well. Nothing below the single objects is looked at. A
folder is read again only when its time of change is another.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from functools import lru_cache

Link = tuple[str, str]  # where it is, where it leads
SETTLED_NS = 50_000_000  # a time stamp younger than this may hide a second change
_OBJECTS = frozenset({"pack", "info"})  # of the folder of objects, what is no single one
_MANY = frozenset({"lfs/objects", "annex/objects"})  # the same of other programs
_SOCKET = "fsmonitor--daemon.ipc"  # git's own
_IN_PLACE = ("_MSG", "_EDITMSG", "FETCH_HEAD")  # what git writes without making it anew; logs as well


def links_in(git: str) -> Iterator[Link]:
    """Every link of a git folder, and those of its worktrees and submodules, which lie in it."""
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
