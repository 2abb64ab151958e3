"""The terminal or pipe that a surface runs at: lines as they are typed, and signals that end what runs.

Told to end by SIGTERM, or because the terminal is gone, a surface leaves its session as a person does: its commands are
ended, and what they left in protected places is moved aside. A process that ignores a hang-up (nohup) continues.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress

from quintet.domain.journal.protocol import Interrupt
from quintet.engine.session.session import Session

PASTE_SECONDS = 0.05  # of quiet after which a paste is over
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"


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


@contextmanager
def interruptible(session: Session) -> Iterator[Collection[object]]:
    """SIGINT, SIGTERM and a lost terminal interrupt what the session does and let it be journalled; a second one ends
    it all.

    So what a command has left in a protected place is moved aside. Gives what is empty until the first one.
    """
    task = asyncio.current_task()
    pending: set[asyncio.Task[str]] = set()

    def interrupt(number: signal.Signals) -> None:
        if pending and task:
            task.cancel()
        else:
            pending.add(asyncio.ensure_future(session.submit(Interrupt())))

    with on_signals([signal.SIGINT, *ending_signals()], interrupt):
        yield pending


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

    begun: list[bytes] = []  # of a line whose end has not come: a long one is put together once
    try:
        while chunk := await next_chunk():
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                yield _text(b"".join((*begun, line)))
                begun.clear()
            if rest:
                begun.append(rest)
        if begun:
            yield _text(b"".join(begun))
    finally:
        loop.remove_reader(handle)


async def inputs_of(handle: int, together: Callable[[], bool]) -> AsyncIterator[str]:
    """What a person gives at a terminal: a line as it is typed, or a paste, whose lines come at once, as one text.

    A paste that ends within a line waits for its Enter. Lines are not put `together` while a question is open.
    """
    lines = lines_of_input(handle)
    following = asyncio.ensure_future(anext(lines, None))
    paste = _Paste()
    try:
        while True:
            quiet = PASTE_SECONDS if paste.held and not paste.open else None
            await asyncio.wait({following}, timeout=quiet)
            if not following.done():
                if len(paste.held) > 1 and (rest := _unfinished_line(handle)):
                    paste.begin_line(rest)
                else:
                    yield paste.taken()
            elif (line := following.result()) is None:
                break
            else:
                following = asyncio.ensure_future(anext(lines, None))
                paste.add(line)
                if not together() and not paste.open:
                    yield paste.taken()
        if paste.held:
            yield paste.taken()
    finally:
        following.cancel()


class _Paste:
    """Lines that came at once, also between the marks of a bracketed paste."""

    def __init__(self) -> None:
        self.held: list[str] = []
        self.open = False  # its last line is not over

    def add(self, line: str) -> None:
        line = self.held.pop() + line if self.open and self.held and not self._marked else line
        self.open = self._marked = (self._marked or PASTE_BEGINS in line) and PASTE_ENDS not in line
        self.held.append(line.replace(PASTE_BEGINS, "").replace(PASTE_ENDS, ""))

    def begin_line(self, text: str) -> None:
        self.held.append(text)
        self.open = True

    def taken(self) -> str:
        text = "\n".join(self.held)
        self.held, self.open, self._marked = [], False, False
        return text

    _marked = False  # between the marks


def _unfinished_line(handle: int) -> str:
    """What stands on the terminal's line without an Enter; it is taken from there."""
    try:
        before = termios.tcgetattr(handle)
        now = [*before[:6], [*before[6]]]
        now[3] &= ~termios.ICANON
        now[6][termios.VMIN] = now[6][termios.VTIME] = 0
        termios.tcsetattr(handle, termios.TCSANOW, now)
        try:
            return _text(os.read(handle, 65_536))
        finally:
            termios.tcsetattr(handle, termios.TCSANOW, before)
    except (termios.error, OSError):  # no terminal, or one that is gone
        return ""


def forget_input(handle: int) -> None:
    """Drop what was typed or pasted at a terminal and has not been read yet."""
    with suppress(termios.error):  # no terminal, or one that is gone
        termios.tcflush(handle, termios.TCIFLUSH)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").replace("\0", "\ufffd")
