"""Looks at a path inside a folder without following any link: for what a command of the session could have made.

When something was made, which no program can set, tells it from another one that got its number.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct

from quintet.adapters.files.paths import key_of

OPEN = 0o500  # what its owner needs to look into a folder
SETTLED_NS = 50_000_000  # a time stamp younger than this may hide a second change
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_EMPTY_PATH, _STATX_BTIME = 0x1000, 0x800
_MASK, _BIRTH = struct.Struct("I"), struct.Struct("qI")  # at 0 and at 80 of struct statx
_statx = getattr(ctypes.CDLL(None), "statx", None)


def open_nofollow(base: str, name: str) -> int:
    """A handle on what `name` (relative, `.` for the base itself) is, perhaps a link; OSError if the way is barred."""
    at = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in name.split("/"):
        try:
            step = os.open(part, _STEP, dir_fd=at)
        finally:
            os.close(at)
        at = step
    return at


def make_nofollow(base: str, folder: str) -> int:
    """A handle on a folder below the base (empty for the base itself), which is made if it is missing.

    OSError if there is a link on the way.
    """
    at = open_nofollow(base, ".")
    for part in folder.split("/") if folder else ():
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=at)
            step = os.open(part, _STEP | os.O_DIRECTORY, dir_fd=at)
        finally:
            os.close(at)
        at = step
    return at


def stat_nofollow(base: str, name: str) -> os.stat_result | None:
    """What a file or folder is; None if there is none, or a link, or one on the way."""
    try:
        handle = open_nofollow(base, name)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
    finally:
        os.close(handle)
    return None if stat.S_ISLNK(found.st_mode) else found


def link_number(device: int, number: int, led: str) -> tuple[int, int]:
    """What a link that leads to `led` is known by: another link can get the number of one that is gone."""
    return device, number ^ int(key_of(led), 16) >> 2


def reopened(base: str, path: str, rights: int = OPEN) -> bool:
    """Give the owner of a folder these rights to it again; whether that could be done."""
    try:
        handle = open_nofollow(base, os.path.relpath(path, base))
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
        at = open_nofollow(base, folder or ".")
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


def birth_time(base: str, path: str) -> int:
    """When a file or folder was made, in nanoseconds; 0 if it is gone, or the file system does not know."""
    if _statx is None:
        return 0
    try:
        handle = open_nofollow(base, os.path.relpath(path, base))
    except OSError:
        return 0
    answer = ctypes.create_string_buffer(256)
    try:
        failed = _statx(handle, b"", _AT_EMPTY_PATH, _STATX_BTIME, answer)
    finally:
        os.close(handle)
    if failed or not _MASK.unpack_from(answer, 0)[0] & _STATX_BTIME:
        return 0
    seconds, rest = _BIRTH.unpack_from(answer, 80)
    return int(seconds) * 1_000_000_000 + int(rest)
