"""What the screen tells the terminal around it: its title, that you are wanted, and how it was before."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from quintet.domain.visible import visible

KEEP_TITLE, GIVE_TITLE_BACK = "\x1b[22;0t", "\x1b[23;0t"
BELL = "\a"
MOST_NOTICE = 120  # characters
ENDING = (signal.SIGTERM, signal.SIGHUP)


def title(text: str) -> str:
    return f"\x1b]0;{visible(text)}\a"


def wanted(text: str) -> str:
    """The bell, and a desktop notice where the terminal shows one."""
    words = " ".join(visible(text).split()).replace(";", ",")[:MOST_NOTICE]
    return f"{BELL}\x1b]9;{words}\a"


def give_back() -> None:
    """The title as it was before; the screen itself is given back by its driver."""
    if sys.__stderr__ and sys.__stderr__.isatty():
        sys.__stderr__.write(GIVE_TITLE_BACK)
        sys.__stderr__.flush()


@contextmanager
def ended_by(leave: Callable[[int], None]) -> Iterator[None]:
    """A signal that ends the program lets the screen close first, and then ends it as signals do."""
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, leave, 128 + number)
    try:
        yield
    finally:
        for number in ENDING:
            loop.remove_signal_handler(number)
