"""Where a path leads once links are followed, whatever somebody has put there."""

from __future__ import annotations

import os

MOST_LINKS = 40


def real_path(path: str) -> str:
    """As `os.path.realpath`, which raises where a link may not be read, as `/proc/1/root` by a user: such a link leads
    to itself."""
    try:
        return os.path.realpath(path)
    except OSError:
        return _step_by_step(path)


def _step_by_step(path: str) -> str:
    here, links = os.getcwd(), 0
    rest = path.split("/")[::-1]
    if path.startswith("/"):
        here = "/"
    while rest:
        name = rest.pop()
        if name == "..":
            here = os.path.dirname(here)
        if name in ("", ".", ".."):
            continue
        here, above = os.path.join(here, name), here
        try:
            to = os.readlink(here)
        except OSError:  # no link, or one that may not be read
            continue
        links += 1
        if links <= MOST_LINKS:
            here = "/" if to.startswith("/") else above
            rest += to.split("/")[::-1]
    return here
