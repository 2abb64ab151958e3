"""Being told to end from outside: SIGTERM, or the terminal is gone. The session is left as a person leaves it.

So its commands are ended, and what they left in protected places is moved aside. Whoever ignores a hang-up (nohup) goes
on; a second SIGTERM ends the process at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def told_to_end(*more: signal.Signals) -> Iterator[asyncio.Event]:
    """An event that is set when the process is told to end, also by one of `more`; for a session and its close."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def end(number: signal.Signals) -> None:
        if told.is_set() and number is not signal.SIGHUP:  # of a terminal that goes away there come several
            loop.remove_signal_handler(number)
            os.kill(os.getpid(), number)
        told.set()

    numbers = [signal.SIGTERM, *more]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, end, number)
    try:
        yield told
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
