"""Waits until a screen has handled all that was posted to it, however slow the machine is.

What a pilot takes for rest is little processor time spent, which is also what a process has that gets none.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from textual.app import App
from textual.events import Callback
from textual.message import Message
from textual.message_pump import MessagePump

SECONDS = 120.0  # a limit, not a measure


class Arrivals:
    """Counts the messages that arrive anywhere on a screen; the hook of `run_test`."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, message: Message) -> None:
        ours = isinstance(message, Callback) and isinstance(message.callback, partial)
        if not (ours and message.callback.func == self._reached):  # type: ignore[attr-defined]
            self._count += 1

    def _reached(self, waiting: set[MessagePump], pump: MessagePump) -> None:
        waiting.discard(pump)

    async def settle(self, app: App[Any]) -> None:
        """Until every message is handled, with all that came of it, and the screen is drawn; or the app ends."""
        async with asyncio.timeout(SECONDS):
            while _goes_on(app):
                before = self._count
                pumps = [app, *app.screen.walk_children(with_self=True)]
                await self._reach(app, pumps)
                if not _goes_on(app):
                    return
                if self._count == before and all(pump._message_queue.empty() for pump in pumps):
                    if not _wants_drawing(app):
                        return
                    app.screen._on_timer_update()

    async def _reach(self, app: App[Any], pumps: list[MessagePump]) -> None:
        """Until each of these has come to the end of what it had to handle."""
        waiting: set[MessagePump] = set()
        for pump in pumps:
            if pump.call_later(self._reached, waiting, pump):
                waiting.add(pump)
        while _goes_on(app) and any(not (pump._closing or pump._closed) for pump in waiting):  # noqa: ASYNC110  an end has no event
            await asyncio.sleep(0.001)


def _goes_on(app: App[Any]) -> bool:
    return app.is_running and not app._exit and app._exception is None


def _wants_drawing(app: App[Any]) -> bool:
    screen = app.screen
    wanted = (screen._layout_required, screen._scroll_required, screen._repaint_required, screen._dirty_widgets)
    return bool(any(wanted) or screen._callbacks or screen._recompose_required)
