"""The time that a turn may take, held to wherever it waits: for a model, for a tool, for an answer.

The waiting goes through the clock's port, and only where a limit is set: a recording without one knows nothing of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from quintet.domain.ports.ports import Clock


class LimitReached(Exception):
    """A limit the user set has been reached; `str` names it."""


def named(seconds: float) -> str:
    return f"limits.max_seconds = {seconds:g}"


@contextlib.asynccontextmanager
async def time_limit(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """What runs in it is cancelled when the time is over, and LimitReached comes out; 0 seconds are no limit."""
    task = asyncio.current_task()
    if not seconds or task is None:
        yield
        return
    over = False

    async def ring() -> None:
        nonlocal over
        await clock.sleep(seconds)
        over = True
        task.cancel()

    timer = asyncio.create_task(ring())
    try:
        yield
    except asyncio.CancelledError:
        if over and task.uncancel() == 0:  # else somebody else has cancelled it, too
            raise LimitReached(named(seconds)) from None
        raise
    else:
        if over:  # the work ended in the same moment, and stands
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            task.uncancel()
    finally:
        timer.cancel()
        await asyncio.gather(timer, return_exceptions=True)
