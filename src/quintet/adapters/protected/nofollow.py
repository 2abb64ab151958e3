"""Looks at a path inside a folder without following any link: for what a command of the session could have made."""

from __future__ import annotations

import os
import stat

OPEN = 0o500  # what its owner needs to look into a folder
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def opened(base: str, name: str) -> int:
    """A handle on what `name` (relative, `.` for the base itself) is, perhaps a link; OSError if the way is barred."""
    at = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in name.split("/"):
        try:
            step = os.open(part, _STEP, dir_fd=at)
        finally:
            os.close(at)
        at = step
    return at


def looked(base: str, name: str) -> os.stat_result | None:
    """What a file or folder is; None if there is none, or a link, or one on the way."""
    try:
        handle = opened(base, name)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
    finally:
        os.close(handle)
    return None if stat.S_ISLNK(found.st_mode) else found


def reopened(base: str, path: str, rights: int = OPEN) -> bool:
    """Give the owner of a folder these rights to it again; whether that could be done."""
    try:
        handle = opened(base, os.path.relpath(path, base))
    except OSError:
        return False
    try:
        return add_rights(handle, rights)
    finally:
        os.close(handle)


def add_rights(handle: int, rights: int) -> bool:
    """Add rights to a folder that is held by a handle; whether it has them now."""
    found = os.fstat(handle)
    if not stat.S_ISDIR(found.st_mode):
        return False
    try:
        os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(found.st_mode) | rights)
    except OSError:  # not ours
        return False
    return True


def text_of(base: str, name: str, most: int = 65_536) -> str:
    """The beginning of a regular file, empty if there is none; nothing else is opened."""
    folder, _, last = name.rpartition("/")
    try:
        at = opened(base, folder or ".")
        try:
            handle = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        finally:
            os.close(at)
    except OSError:
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        return os.read(handle, most).decode("utf-8", "surrogateescape") if regular else ""
    finally:
        os.close(handle)
