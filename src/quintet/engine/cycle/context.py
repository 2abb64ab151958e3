"""What a cycle works with: the parts of its session, and how it speaks of tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from msgspec import Struct

from quintet.domain.base.wording import first_line
from quintet.domain.dials.transitions import Boundary
from quintet.domain.journal.cycle_state import CycleState
from quintet.domain.journal.protocol import Countdown, CycleMoved, DialsTurned, Event, TaskMoved
from quintet.domain.journal.reasons import refused
from quintet.domain.journal.state import SessionState
from quintet.domain.tasks.cycle import Stop, limit_hit
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.page import findings_page
from quintet.domain.tasks.task import Task, TaskMove, TaskStatus, after_failure
from quintet.engine.checkpoints.keeper import CheckpointKeeper
from quintet.engine.cycle.claims import TaskClaims
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.engine.session import dials
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import Questions
from quintet.engine.turn.turn_runner import TurnResult, Turns

T = TypeVar("T")
MOST_REASON = 200  # characters of what is written beside a move; the page has all of it


class CycleContext(Struct):
    core: Core
    journal: Journal
    turns: Turns
    questions: Questions
    checkpoints: CheckpointKeeper
    go: asyncio.Event  # clear while the run is paused
    skip: asyncio.Event  # clear while a wait goes on; /retry sets it
    claims: TaskClaims
    began: float = 0.0  # when this stretch did, by the monotonic clock
    scope: str = ""  # of the dials that landed since the last move of a task

    @property
    def state(self) -> SessionState:
        return self.journal.state

    @property
    def cycle(self) -> CycleState:
        assert self.state.cycle
        return self.state.cycle

    @property
    def staged(self) -> bool:
        """Whether the model in use can be asked about its own work; the offline rules cannot."""
        return self.core.turn.models.staged(self.state.dials)

    @property
    def seconds(self) -> float:
        """How long this stretch has taken."""
        return self.core.clock.monotonic() - self.began

    def limit_hit(self, waiting: float = 0.0) -> str:
        """The budget of the cycle that is spent, or would be after a wait; empty if none is."""
        return limit_hit(self.cycle, self.core.settings.cycle, self.seconds + waiting)

    @property
    def tasks(self) -> TaskKeeper:
        return self.core.cycle.tasks()

    def at(self, phase: CyclePhase, task: Task | None = None, **more: Any) -> CycleMoved:
        """The event that the cycle has come to a phase, with the task it is at and that one's place among all."""
        cycle = self.cycle
        known: dict[str, Any] = {"run": cycle.run, "phase": phase, "iteration": cycle.iteration}
        if task:
            known |= {"task": task.id, "title": task.title}
            known |= {"attempt": cycle.unit.attempt, "current": cycle.unit.current, "total": cycle.unit.total}
        return CycleMoved(**(known | more))

    @property
    def how_to_be_asked(self) -> str:
        return f"To answer: quintet --resume {self.state.session} at a terminal, and there `/next`."

    async def move(self, task: Task, after: TaskStatus, reason: str, *, findings: str = "", scope: str = "") -> Task:
        """Move a task that this session has claimed, and put a copy of the move into the journal.

        `scope` is that of what brought the move about; without one, that of the dials that landed just before.
        """
        scope, self.scope = scope or self.scope, ""
        moved, move = await self.tasks.move(
            task.id, after, reason, owner=self.claims.owner, scope=scope, run=self.cycle.run, findings=findings
        )
        self.journal.post(task_moved(moved, move, self.cycle.run))
        return moved

    async def claim(self, task: Task) -> bool:
        """Make the task this session's; False if another process was quicker."""
        return await self.claims.claim(task, self.cycle.roles.executor)

    async def close_unit(self, task: Task, after: TaskStatus, reason: str, *, findings: str = "") -> None:
        """Move a task whose unit is over, and let go of it."""
        await self.move(task, after, reason, findings=findings)
        await self.release(task)

    async def release(self, task: Task) -> None:
        await self.claims.let_go(task.id)
        self.end_unit()

    def end_unit(self) -> None:
        """Let the dials that wait for the end of a unit land."""
        self.landed(dials.reach(self.state, Boundary.UNIT_END))

    def landed(self, events: list[Event]) -> None:
        """Put dials on record that landed at a boundary; the next move of a task comes with their scope."""
        if events:
            self.journal.post(*events)
        for event in events:
            self.scope = str(event.scope) if isinstance(event, DialsTurned) else self.scope

    async def fail(self, task: Task, by: str, why: str) -> None:
        """A unit failed, or its verification did: the task goes back with what was found, or has failed for good.

        One that was not allowed what it needed has not failed: it is blocked, and its retries are its own.
        """
        if self.cycle.unit.refusal:
            await self.close_unit(task, TaskStatus.BLOCKED, refused(self.cycle.unit.refusal))
            return
        findings = findings_page(task.retries + 1, by, why)
        first = first_line(why)[:MOST_REASON]
        await self.close_unit(task, after_failure(task), f"not done, by {by}: {first}", findings=findings)

    async def wait(self, seconds: float, why: str) -> None:
        """Count down; /retry ends it at once, a cancelled one is over. The task's row says when it goes on."""
        self.skip.clear()
        left, task = seconds, self.cycle.unit.task
        try:
            if task:
                await self.tasks.due(task, seconds)
            while left > 0 and not self.skip.is_set():
                self.journal.signal(Countdown(why=why, seconds=left))
                slept = asyncio.ensure_future(self.core.clock.sleep(min(1.0, left)))
                skipped = asyncio.ensure_future(self.skip.wait())
                try:
                    await asyncio.wait((slept, skipped), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    slept.cancel()
                    skipped.cancel()
                    await asyncio.gather(slept, skipped, return_exceptions=True)
                left -= 1.0
        finally:
            self.skip.set()
            if task:
                await run_to_end(self.tasks.due(task))


def rest_after(result: TurnResult[Any]) -> Stop:
    """Control returns for what ended a turn of the cycle, with what to do about it."""
    ending = result.finished
    hint = ending.error.hint if ending.error else ""
    said = ending.answer if result.refused else ending.reason
    return Stop(ending.status, "\n".join(filter(None, (said, hint))))


def task_moved(task: Task, move: TaskMove, run: str = "") -> TaskMoved:
    assert move.before
    return TaskMoved(
        task=task.id,
        title=task.title,
        before=move.before,
        after=move.after,
        reason=move.reason,
        transition=move.number,
        run=run,
    )


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Do this to its end, however often it is cancelled meanwhile: it puts things back in order.

    Who is cancelled meanwhile is so afterwards: their next wait ends so.
    """
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and (current := asyncio.current_task()):
        current.cancel()
    return task.result()
