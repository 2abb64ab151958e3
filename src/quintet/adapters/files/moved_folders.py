"""Looks below a folder that is about to be moved: by handles, no link followed, and no more than a bounded count."""

from __future__ import annotations

import os

from quintet.domain.permission.moved_folders import FOREIGN, MOST_DEPTH, MOST_ENTRIES, Below


def is_folder(name: str, at: int) -> bool:
    import stat

    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
    except OSError:
        return False


def look_below(name: str, at: int) -> Below:
    """What there is below the folder `name` of the folder that `at` is open on."""
    look = _Look()
    look.into(name, at, "", 0)
    return Below(tuple(look.folders), look.closed, look.more)


class _Look:
    def __init__(self) -> None:
        self.folders: list[tuple[str, tuple[str, ...]]] = []
        self.closed = ""
        self.more = False
        self._count = 0

    def into(self, name: str, at: int, path: str, depth: int) -> None:
        try:
            handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        except FileNotFoundError:
            return
        except OSError:
            self.closed = path or "."
            return
        try:
            with os.scandir(handle) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
            self.folders.append((path, tuple(name for name, _ in found)))
            self._count += len(found)
            for inner, folder in found:
                if self._count > MOST_ENTRIES or depth >= MOST_DEPTH:
                    self.more = True
                elif folder and inner not in FOREIGN and not self.closed:
                    self.into(inner, handle, f"{path}/{inner}" if path else inner, depth + 1)
        finally:
            os.close(handle)
