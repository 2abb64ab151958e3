"""Calls that stop in the middle to ask the person something, or whether they may spend, and then go on.

A call that asks comes back with `pauses` set, and is resumed with the reply; what it came to is its last result. So a
recording has each piece of it in order. A call that is no longer wanted is dropped, with all it was about to ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from quintet.domain.turn.tool_spec import CallQuestion, CallReply, ToolResult

Ask = Callable[[CallQuestion], Awaitable[CallReply]]


class _Paused:
    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[CallQuestion, asyncio.Future[CallReply]]] = asyncio.Queue()
        self.task: asyncio.Task[ToolResult] | None = None
        self.waiting: asyncio.Future[CallReply] | None = None

    async def ask(self, question: CallQuestion) -> CallReply:
        reply: asyncio.Future[CallReply] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait((question, reply))
        return await reply

    def refuse(self, reply: asyncio.Future[CallReply] | None) -> None:
        """Whoever still waits for it is told that nobody answers."""
        if reply and not reply.done():
            reply.set_result(CallReply(refused="interrupted"))


class PausedCalls:
    def __init__(self) -> None:
        self._open: dict[str, _Paused] = {}

    async def begin(self, call: str, run: Callable[[Ask], Awaitable[ToolResult]]) -> ToolResult:
        """Run a call until it asks or ends."""
        one = self._open[call] = _Paused()
        one.task = asyncio.ensure_future(run(one.ask))
        return await self._next(call)

    async def resume(self, call: str, reply: CallReply) -> ToolResult:
        """Go on with a call until it asks again or ends."""
        one = self._open[call]
        if one.waiting and not one.waiting.done():
            one.waiting.set_result(reply)
        return await self._next(call)

    async def drop(self, call: str) -> None:
        one = self._open.pop(call, None)
        if one and one.task:
            one.task.cancel()
            await asyncio.gather(one.task, return_exceptions=True)
            while not one.asked.empty():
                _, reply = one.asked.get_nowait()
                one.refuse(reply)
            one.refuse(one.waiting)

    async def _next(self, call: str) -> ToolResult:
        one = self._open[call]
        assert one.task
        asked = asyncio.ensure_future(one.asked.get())
        try:
            await asyncio.wait((one.task, asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.drop(call)
            raise
        finally:
            asked.cancel()
        if one.task.done():
            self._open.pop(call, None)
            return one.task.result()
        question, one.waiting = asked.result()
        return ToolResult("", pauses=question)
