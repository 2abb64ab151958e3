"""Which folder is the project: the repository that a folder lies in, if that is the user's.

A `.git` above counts by git's own rule: it and its folder belong to whoever runs this, or `safe.directory` of the
user's settings names the folder. What belongs to the owner of the folder itself, with all folders between, counts too:
it gives nobody anything. Otherwise anybody could make `/tmp/.git`, and so all below `/tmp` one project.
"""

from __future__ import annotations

import os


def repository_above(start: str) -> tuple[str, str]:
    """The root of the project that a folder lies in, and a folder above whose `.git` does not count, if there is."""
    folder = start
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return start, ""
        folder = parent
    return (folder, "") if folder == start or _counts(folder, start) else (start, folder)


def _counts(top: str, start: str) -> bool:
    above = {os.lstat(path).st_uid for path in (top, os.path.join(top, ".git"))}
    between, folder = set[int](), start
    while folder != top:
        between.add(os.stat(folder).st_uid)
        folder = os.path.dirname(folder)
    return above <= _mine() or (len(above) == 1 and above == between) or _is_safe(top)


def _mine() -> set[int]:
    """Whoever runs this; for root under sudo, as git has it, also who called it."""
    uid, caller = os.geteuid(), os.environ.get("SUDO_UID", "")
    return {uid, int(caller)} if uid == 0 and caller.isascii() and caller.isdigit() else {uid}


def _is_safe(top: str) -> bool:
    """Whether the user's settings of git name this folder. Git is asked only for what is another user's."""
    from quintet.adapters.git.own_git import safe_folders

    safe = False
    for value in safe_folders():
        folder = os.path.realpath(os.path.expanduser(value.removesuffix("/*"))) if value else ""
        below = value.endswith("/*") and top.startswith(folder.rstrip("/") + "/")
        # An empty value takes back what came before.
        safe = bool(value) and (safe or value == "*" or below or folder == top)
    return safe
