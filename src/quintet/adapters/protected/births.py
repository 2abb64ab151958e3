"""When a file or folder was made, which no program can set. Its number is given to another one once it is gone."""

from __future__ import annotations

import ctypes
import os
import struct

from quintet.adapters.protected.nofollow import opened

_AT_EMPTY_PATH, _STATX_BTIME = 0x1000, 0x800
_MASK, _BIRTH = struct.Struct("I"), struct.Struct("qI")  # at 0 and at 80 of struct statx
_statx = getattr(ctypes.CDLL(None), "statx", None)


def birth(base: str, path: str) -> int:
    """In nanoseconds; 0 if it is gone, or the file system does not know."""
    if _statx is None:
        return 0
    try:
        handle = opened(base, os.path.relpath(path, base))
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
