"""The way that a path takes inside the project: each link on it, which can be turned, and the file at its end."""

from __future__ import annotations

import os
from collections.abc import Iterable

MOST_LINKS = 40  # as many as the kernel follows


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
