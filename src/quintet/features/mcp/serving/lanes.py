"""The sessions that calls are carried out in: the first, and beside it some that only read while the first is busy.

A session runs one turn at a time, so that a long command would keep every other caller waiting. What only reads goes
to a session of its own meanwhile, at the dials of the first; what was read there counts as read in the first. Commands,
writes and all that a session remembers stay in the first, one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from quintet.domain.base.errors import QuintetError
from quintet.domain.dials.axes import Axes, AxesChange
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.tool_spec import ToolSpec
from quintet.engine.session.session import Session

MOST_SIDES = 4

Open = Callable[[AxesChange], AbstractAsyncContextManager[Session]]


def reads_only(spec: ToolSpec) -> bool:
    """Whether calls of a tool only look at files, and remember nothing."""
    return spec.effects == {Effect.READ} and not spec.service and not spec.asks


class Lanes:
    def __init__(self, first: Session, open: Open | None = None) -> None:
        self.first = first
        self._open = open
        self._busy = asyncio.Lock()  # the first one
        self._room = asyncio.Semaphore(MOST_SIDES)
        self._idle: list[_Side] = []

    @asynccontextmanager
    async def lane(self, spec: ToolSpec | None) -> AsyncIterator[Session]:
        """A session for a call of this tool, for as long as it takes."""
        if self._open is None or spec is None or not reads_only(spec) or not self._busy.locked():
            async with self._busy:
                yield self.first
            return
        async with self._room:
            side = await self._side()
            try:
                yield side.session
            finally:
                self._idle.append(side)

    async def _side(self) -> _Side:
        axes = self.first.state.axes
        while self._idle:
            side = self._idle.pop()
            if side.axes == axes:
                return side
            await side.close()  # a dial was turned since
        assert self._open
        return await _Side.opened(self._open, axes)

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for side in idle:
            await side.close()


class _Side:
    """A session that is opened and closed by one task of its own."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self._over = asyncio.Event()
        self._ready: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def opened(cls, open: Open, axes: Axes) -> _Side:
        side = cls(axes)
        side._task = asyncio.create_task(side._live(open))
        await asyncio.shield(side._ready)
        return side

    @property
    def session(self) -> Session:
        return self._ready.result()

    async def _live(self, open: Open) -> None:
        axes = self.axes
        change = AxesChange(axes.work_mode, axes.run_control, axes.permission_profile, axes.model_mode)
        try:
            async with open(change) as session:
                self._ready.set_result(session)
                await self._over.wait()
        except QuintetError as error:
            if not self._ready.done():
                self._ready.set_exception(error)

    async def close(self) -> None:
        self._over.set()
        if self._task:
            with suppress(QuintetError):
                await self._task
