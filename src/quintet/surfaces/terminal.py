"""The terminal or pipe that a surface runs at: lines as they are typed, and signals that end what runs.

Told to end by SIGTERM, or because the terminal is gone, a surface leaves its session as a person does: its commands are
ended, and what they left in protected places is moved aside. A process that ignores a hang-up (nohup) continues.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def on_signals(numbers: Iterable[signal.Signals], handle: Callable[[signal.Signals], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    handled = list(numbers)
    for number in handled:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def ending_signals() -> list[signal.Signals]:
    """Those that tell a process to end, except a hang-up that it ignores."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGTERM] if ignored else [signal.SIGTERM, signal.SIGHUP]


@contextmanager
def told_to_end(*more: signal.Signals) -> Iterator[asyncio.Event]:
    """An event that is set when the process is told to end, also by one of `more`; for a session and its close.

    A second SIGTERM ends the process at once.
    """
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def end(number: signal.Signals) -> None:
        if told.is_set() and number is not signal.SIGHUP:  # a terminal that goes away sends several
            loop.remove_signal_handler(number)
            os.kill(os.getpid(), number)
        told.set()

    with on_signals([*ending_signals(), *more], end):
        yield told


async def lines_of_input(handle: int) -> AsyncIterator[str]:
    """Lines as they come, without a thread that could not be stopped: the loop watches the input.

    Only a regular file, which never blocks, is read by a thread.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def ready() -> None:
        try:
            data = os.read(handle, 65_536)
        except OSError:  # the terminal went away
            data = b""
        queue.put_nowait(data)
        if not data:  # at its end a file stays readable forever
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


def forget_input(handle: int) -> None:
    """Drop what was typed or pasted at a terminal and has not been read yet."""
    with suppress(termios.error):  # no terminal, or one that is gone
        termios.tcflush(handle, termios.TCIFLUSH)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").replace("\0", "\ufffd")
