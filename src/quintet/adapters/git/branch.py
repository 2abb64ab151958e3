"""The branch a repository is on, with a star where something is changed: for people to see, never to decide by.

Nothing of the repository's runs for it. A file that a filter would convert, as those of git-lfs, can then not be
compared; it counts as changed when its size is another than when git last looked.
"""

from __future__ import annotations

import asyncio
import os

from quintet.adapters.git.git_folders import git_folders, read_plain
from quintet.adapters.git.own_git import View, looking
from quintet.domain.base.errors import ToolFailed
from quintet.domain.git.plain_git import branch_of, sizes, touched

SECONDS = 5.0
MOST_FILTERED = 200
_STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
_ELSEWHERE = ".invalid"  # what HEAD names where refs are not kept in files
_PLAIN = (b"unspecified", b"unset")


async def branch(root: str) -> str:
    """For example `main*`; empty outside a repository."""
    return await asyncio.to_thread(_branch, root)


def _branch(root: str) -> str:
    found = git_folders(root)
    if found is None:
        return ""
    name = branch_of(read_plain(os.path.join(found.own, "HEAD"), 4096).decode("utf-8", "replace"))
    try:
        with looking(root, SECONDS) as view:
            if view is None:
                return name
            if name == _ELSEWHERE:
                name = view.ask("rev-parse", "--abbrev-ref", "HEAD").decode("utf-8", "replace").strip()
            return f"{name}*" if _changed(view) else name
    except (ToolFailed, OSError):
        return name


def _changed(view: View) -> bool:
    paths = touched(view.ask(*_STATUS))
    if not paths:
        return paths is None
    said = view.ask("check-attr", "-z", "--stdin", "filter", given=b"\0".join(paths) + b"\0").split(b"\0")
    filtered = {path for path, value in zip(said[::3], said[2::3], strict=False) if value not in _PLAIN}
    if len(filtered) < len(paths) or len(paths) > MOST_FILTERED:
        return True
    named = (f":(literal){os.fsdecode(path)}" for path in paths)
    before = sizes(view.ask("ls-files", "-z", "--debug", "--", *named))
    return any(before.get(path) != os.lstat(os.path.join(os.fsencode(view.root), path)).st_size for path in paths)
