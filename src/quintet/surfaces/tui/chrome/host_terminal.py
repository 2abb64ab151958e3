"""What the screen tells the terminal around it: its title, a call for attention, and to restore what was there."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from quintet.domain.base.safe_text import visible
from quintet.surfaces.terminal import on_signals
from quintet.surfaces.typed_line import ended_by_ctrl_c

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver

KEEP_TITLE, GIVE_TITLE_BACK = "\x1b[22;0t", "\x1b[23;0t"
BELL = "\a"
MOST_NOTICE = 120  # characters
INTERRUPTED = 128 + signal.SIGINT  # the exit code
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)  # Ctrl+C is a key here: a SIGINT comes from outside


def title(text: str) -> str:
    return f"\x1b]0;{visible(text)}\a"


def attention(text: str) -> str:
    """The bell, and a desktop notice where the terminal shows one."""
    words = " ".join(visible(text).split()).replace(";", ",")[:MOST_NOTICE]
    return f"{BELL}\x1b]9;{words}\a"


def give_back() -> None:
    """Restore the title as it was before; the driver restores the screen itself."""
    with suppress(OSError):  # the terminal may be gone
        if sys.__stderr__ and sys.__stderr__.isatty():
            sys.__stderr__.write(GIVE_TITLE_BACK)
            sys.__stderr__.flush()


def show(program: Sequence[str], then: str) -> None:
    """Run a program at the terminal, then wait for Enter. Ctrl+C ends the program or the wait, not us."""
    with suppress(KeyboardInterrupt), ended_by_ctrl_c() as wait_for:
        subprocess.run(program, check=False)
        sys.stdout.write(then)
        sys.stdout.flush()
        wait_for(sys.stdin.fileno())
        sys.stdin.readline()


def stop_reading_keys(ui: App[int]) -> None:
    """End the thread that reads keys: the driver may have failed before it did, and without a terminal it spins."""
    ended = getattr(ui._driver, "exit_event", None)
    if ended:
        ended.set()


class _Lossy:
    """A terminal to write to; when it is gone, what is written is lost."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()


def outliving(driver: type[Driver]) -> type[Driver]:
    """The driver, made to outlive its terminal: otherwise its writer ends, and whoever writes then waits forever."""

    def made(*words: Any, **named: Any) -> Driver:
        there = driver(*words, **named)
        if file := getattr(there, "_file", None):
            there._file = _Lossy(file)  # type: ignore[attr-defined]
        return there

    return made  # type: ignore[return-value]


async def signals_heard() -> None:
    """Return once the loop has handled every signal that came by now.

    It reads that one came in one pass, hears which in the next, and is called back in a third.
    """
    for _ in range(3):
        await asyncio.sleep(0)


def ended_by(leave: Callable[[int], None]) -> AbstractContextManager[None]:
    """On a signal that ends the program, close the screen first, and exit with the signal's code."""
    return on_signals(ENDING, lambda number: leave(128 + number))
