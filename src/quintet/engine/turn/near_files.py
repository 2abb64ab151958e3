"""The files that a call may have meant, where the one it named is not there: of that name, then of one like it.

It looks at a bounded number of folders, the nearest first, follows no link, and names nothing hidden, nothing secret
and nothing of a dependency.
"""

from __future__ import annotations

import posixpath
from collections import deque

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import nearest
from quintet.domain.permission.protected_paths import inside
from quintet.domain.ports.files import Files
from quintet.domain.turn.agent_pages import foreign

MOST_FOLDERS = 200
MOST_FILES = 5_000
MOST_NAMED = 3


def near_files(missing: str, files: Files) -> str:
    """What to append to the error; nothing where nothing is like it."""
    relative = inside(missing, files.root)
    if relative is None or relative == ".":
        return ""
    wanted = posixpath.basename(relative)
    found = _files(posixpath.dirname(relative), files)
    same = [path for path in found if posixpath.basename(path).lower() == wanted.lower()]
    by_name: dict[str, str] = {}
    for path in found:
        by_name.setdefault(posixpath.basename(path), path)
    like = [by_name[name] for name in nearest(wanted, by_name, most=MOST_NAMED)]
    close = list(dict.fromkeys([*same, *like]))[:MOST_NAMED]
    return f"; similar: {', '.join(map(on_one_line, close))}" if close else ""


def _files(folder: str, files: Files) -> list[str]:
    """The files of the folder, or of the nearest one above it that is there, and of those around it."""
    found: list[str] = []
    seen: set[str] = set()
    waiting = deque(_upwards(folder))
    while waiting and len(seen) < MOST_FOLDERS and len(found) < MOST_FILES:
        at = waiting.popleft()
        if at in seen:
            continue
        seen.add(at)
        try:
            entries = files.entries(at or ".")
        except (OSError, QuintetError):
            continue
        for entry in entries:
            path = posixpath.join(at, entry.name)
            if entry.name.startswith(".") or foreign(path) or files.protection.is_secret(path):
                continue
            if entry.kind == "folder":
                waiting.append(path)
            elif entry.kind == "file":
                found.append(path)
    return found


def _upwards(folder: str) -> list[str]:
    """The folder and those above it, the root last."""
    parts = [part for part in folder.split("/") if part]
    return ["/".join(parts[:count]) for count in range(len(parts), -1, -1)]
