"""Lines of an input as they come, without a thread that could not be stopped."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator


async def lines_of_input(handle: int) -> AsyncIterator[str]:
    """Watched by the loop; only a regular file, which never blocks, is read by a thread."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def ready() -> None:
        try:
            data = os.read(handle, 65_536)
        except OSError:  # the terminal went away
            data = b""
        queue.put_nowait(data)
        if not data:  # at its end a file stays readable for ever
            loop.remove_reader(handle)

    try:
        loop.add_reader(handle, ready)
    except PermissionError:  # a regular file cannot be watched, and never blocks

        async def next_chunk() -> bytes:
            return await asyncio.to_thread(os.read, handle, 65_536)
    else:

        async def next_chunk() -> bytes:
            return await queue.get()

    buffer = b""
    try:
        while chunk := await next_chunk():
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                yield _text(line)
        if buffer:
            yield _text(buffer)
    finally:
        loop.remove_reader(handle)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").replace("\0", "\ufffd")
