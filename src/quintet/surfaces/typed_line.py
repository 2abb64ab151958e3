"""What a person types at the terminal when asked in line; one Ctrl+C ends the wait, whenever it comes."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

MOST_SIGNALS = 4096  # that are kept for whoever was told of them before


def typed_line(question: str, out: TextIO | None = None) -> str:
    """The line that is typed, without the blanks around it."""
    with ended_by_ctrl_c() as wait_for:
        _ask(question, out or sys.stdout)
        wait_for(sys.stdin.fileno())
        return sys.stdin.readline().strip()


def typed_unseen(question: str) -> str:
    """The line that is typed and not shown; what was typed before the question is not part of it."""
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    unseen = [*before]
    unseen[3] &= ~termios.ECHO
    with ended_by_ctrl_c() as wait_for:
        try:
            termios.tcsetattr(handle, termios.TCSAFLUSH, unseen)
            _ask(question, sys.stderr)
            wait_for(handle)
            return sys.stdin.readline().rstrip("\r\n")
        finally:
            termios.tcsetattr(handle, termios.TCSANOW, before)
            _ask("\n", sys.stderr)


def typed_key(question: str) -> str:
    """One key; what was typed before the question answers nothing."""
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    with ended_by_ctrl_c() as wait_for:
        try:
            tty.setcbreak(handle, termios.TCSANOW)
            termios.tcflush(handle, termios.TCIFLUSH)
            _ask(question, sys.stdout)
            wait_for(handle)
            return os.read(handle, 1).decode("ascii", "replace")
        finally:
            termios.tcsetattr(handle, termios.TCSANOW, before)
            sys.stdout.write("\n")


@contextmanager
def ended_by_ctrl_c() -> Iterator[Callable[[int], None]]:
    """While a person is asked, one Ctrl+C ends it all; asyncio's own handler would wait for a second one.

    Gives what waits until a handle can be read. Python looks at signals before it begins to read, and one that comes
    in between would be kept until the read ends: so the wait also watches a socket that the signal itself writes to.
    """
    heard, told = socket.socketpair()
    others = bytearray()  # signals that whoever was told before us has to know
    with heard, told:
        heard.setblocking(False)
        told.setblocking(False)

        def hear() -> None:
            with suppress(BlockingIOError):  # there was none
                others.extend(heard.recv(MOST_SIGNALS).replace(bytes([signal.SIGINT]), b""))

        def wait_for(handle: int) -> None:
            while handle not in select.select([handle, heard.fileno()], [], [])[0]:
                hear()

        loop = signal.set_wakeup_fd(told.fileno())
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield wait_for
        finally:
            signal.signal(signal.SIGINT, before)
            signal.set_wakeup_fd(loop)
            hear()
            if others and loop >= 0:
                os.write(loop, others)


def _ask(question: str, out: TextIO) -> None:
    out.write(question)
    out.flush()
