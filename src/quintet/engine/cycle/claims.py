"""This session's claims on tasks: made before a unit begins, kept by a heartbeat, let go of when it is over."""

from __future__ import annotations

import asyncio
import contextlib

from quintet.domain.base.errors import QuintetError, TaskTaken
from quintet.domain.journal.protocol import Interrupt, Submitted
from quintet.domain.tasks.roles import NATIVE
from quintet.domain.tasks.task import Task
from quintet.domain.turn.context import DEFAULT_WINDOW, percent_used
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.session.leases import HEARTBEAT_SECONDS


class TaskClaims:
    def __init__(self, core: Core, journal: Journal, owner: str) -> None:
        self._core = core
        self._journal = journal
        self.owner = owner
        self._beats: dict[str, asyncio.Task[None]] = {}

    async def claim(self, task: Task, executor: str) -> bool:
        """Make the task this session's; False if another process was quicker."""
        if task.id not in self._beats:  # before it is claimed: a claim that is cut short is let go of, too
            self._beats[task.id] = asyncio.create_task(self._beat(task.id, executor))
        try:
            await self._core.cycle.tasks().claim(task.id, self.owner, model=executor)
        except TaskTaken:
            self._beats.pop(task.id).cancel()
            return False
        return True

    async def let_go(self, task: str) -> None:
        if beat := self._beats.pop(task, None):
            beat.cancel()
            await asyncio.gather(beat, return_exceptions=True)
        await self._core.cycle.tasks().let_go(task, self.owner)

    async def close(self) -> None:
        for task in list(self._beats):
            await self.let_go(task)

    async def beat(self, task: str, executor: str) -> None:
        """Keep the claim once more, with how full the conversation is; if it is lost, its next move says so."""
        with contextlib.suppress(QuintetError):
            await self._core.cycle.tasks().beat(task, self.owner, executor, self._context_percent(executor))

    def _context_percent(self, executor: str) -> float | None:
        """How much of the model's window the conversation fills; of an AI CLI's nobody knows."""
        if executor != NATIVE:
            return None
        conversation = self._journal.state.conversation
        window = self._core.turn.models.window(conversation.model) or DEFAULT_WINDOW
        return percent_used(conversation.measured, conversation.messages, window)

    async def _beat(self, task: str, executor: str) -> None:
        """Keep the claim; where it is lost, interrupt the unit. A write that is late all the same is refused."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            try:
                percent = self._context_percent(executor)
                await self._core.cycle.tasks().beat(task, self.owner, executor, percent)
            except QuintetError as error:
                state = self._journal.state
                turn = state.turns.open.turn if state.turns.open else ""
                stop = Submitted(f"beat-{task}-{turn}", Interrupt(), state.axes.surface)
                with contextlib.suppress(QuintetError):
                    await self._core.store.submit(state.session, stop, "")
                self._core.log.note(f"task {task}: {error}")
                return
