"""Does one unit: one attempt at one task, claimed before it begins and let go of when it is over.

A native unit is one turn whose input is the task's body; an AI CLI is started once for it, attempts aside. However the
unit ends, the task's row and file say so; what was cut short goes back to todo and counts as no retry.
"""

from __future__ import annotations

import asyncio
import contextlib

from quintet.domain.base.errors import QuintetError, TaskTaken
from quintet.domain.dials.transitions import Boundary
from quintet.domain.journal.protocol import QuestionAsked
from quintet.domain.journal.reasons import refused
from quintet.domain.permission.answers import APPROVAL, YES
from quintet.domain.tasks.cycle import Stop
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.executors import NATIVE, ExecutorRole
from quintet.domain.tasks.page import request_of
from quintet.domain.tasks.task import Approval, Task, TaskStatus
from quintet.domain.turn.messages import EndStatus
from quintet.engine.cycle.context import CycleContext, rest_after, run_to_end
from quintet.engine.cycle.executor import ExecutorStart, why
from quintet.engine.cycle.task_keeper import MAY_HAVE_PUBLISHED
from quintet.engine.session import dials
from quintet.engine.turn.turn import Turn
from quintet.engine.turn.turn_runner import StepResult, TurnResult, TurnWork

EXECUTE_PAGE = "cycle/execute.md"
S = TaskStatus


class UnitStep:
    def __init__(self, context: CycleContext) -> None:
        self._context = context

    async def execute(self, task: Task, current: int, total: int) -> Stop | None:
        """None if the cycle goes on, whatever became of the task."""
        context, journal = self._context, self._context.journal
        if rest := await self._approved(task):
            return rest
        if not await context.claim(task):
            return None
        attempt = context.tasks.units(task.id) + 1
        if landed := dials.reach(context.state, Boundary.UNIT_START):
            journal.post(*landed)
        task = await run_to_end(context.move(task, S.RUNNING, f"unit {attempt}"))  # cut short, it is put back below
        place = {"attempt": attempt, "current": current, "total": total}
        try:
            await journal.append(context.at(CyclePhase.EXECUTING, task, by=context.cycle.roles.executor, **place))
            result = await self._carried_out(task)
            rest = await run_to_end(self._settled(task, result))
        except asyncio.CancelledError:
            await run_to_end(self._put_back(task, "interrupted"))
            raise
        except QuintetError as error:
            await run_to_end(self._put_back(task, error.message))
            raise
        return rest

    async def _approved(self, task: Task) -> Stop | None:
        if task.text.approval is not Approval.BEFORE or self._context.tasks.units(task.id):
            return None
        core = self._context.core
        if not core.person:
            return Stop(
                EndStatus.BLOCKED, f"task {task.id} wants your approval before it begins; nobody is attached to ask"
            )
        detail = (f"changes    {task.text.mutation}", f"risk       {task.text.risk}", *task.text.body.splitlines()[:10])
        question = QuestionAsked(
            question=core.ids.new("q"),
            kind="approve",
            text=f"begin {task.id}: {task.title}?",
            choices=APPROVAL,
            detail=detail,
        )
        answer = await self._context.questions.ask(question)
        if answer.choice == YES:
            return None
        return Stop(EndStatus.PAUSED, f"task {task.id} was not approved{f': {answer.note}' if answer.note else ''}")

    async def _carried_out(self, task: Task) -> TurnResult[None]:
        context, cycle = self._context, self._context.cycle
        surface = context.state.axes.surface
        if cycle.roles.executor == NATIVE:
            body = task.text.body.strip() if context.staged else request_of(task.text.body)
            return await context.turns.run(TurnWork(body or task.title, surface, run=cycle.run, alone=False))

        async def step(turn: Turn) -> StepResult[None]:
            values = {
                "project_root": context.core.project,
                "user_input": f"{task.title}\n\n{task.text.body.strip()}",
                "tool_summary": context.tasks.summary(),
            }
            start = ExecutorStart(context, cycle.roles.executor, ExecutorRole.EXECUTE, turn)
            ended = await start.run(context.core.turn.prompts.filled(EXECUTE_PAGE, values))
            return StepResult(ended.answer, None, "" if ended.ok else why(cycle.roles.executor, ended))

        return await context.turns.run_step(TurnWork("", surface, run=cycle.run, alone=False), step)

    async def _settled(self, task: Task, result: TurnResult[None]) -> Stop | None:
        context, ending = self._context, result.finished
        await context.tasks.note(task.id, ending.cost, ending.turn)
        match ending.status:
            case EndStatus.DONE:
                done = await context.move(task, S.VERIFYING, "its unit is done")
                context.journal.post(context.at(CyclePhase.MOVING_COMPLETED, done))
                return self._overspent(done)
            case EndStatus.INTERRUPTED | EndStatus.CANCELLED | EndStatus.LIMIT:
                await self._put_back(task, ending.reason)
                return rest_after(result)
            case EndStatus.BLOCKED if not result.refused:
                await context.move(task, S.BLOCKED, refused(ending.reason))
                context.end_unit()
                return rest_after(result)
        if ending.error:  # of the model, the executor or Quintet: nothing of the task's is wrong
            await self._put_back(task, ending.reason)
            return rest_after(result)
        await context.fail(task, context.cycle.roles.executor, ending.answer or ending.reason)
        return None

    def _overspent(self, task: Task) -> Stop | None:
        spent = self._context.tasks.find(task.id)
        if spent.cost_budget and spent.cost_spent > spent.cost_budget:
            return Stop(
                EndStatus.LIMIT, f"task {task.id} has a budget of {spent.cost_budget:g}, spent {spent.cost_spent:.4f}"
            )
        return None

    async def _put_back(self, task: Task, why: str) -> None:
        with contextlib.suppress(TaskTaken):  # then it is another's, and so is what becomes of it
            unsure = self._context.cycle.unit.unsure == task.id
            after, why = (S.BLOCKED, MAY_HAVE_PUBLISHED) if unsure else (S.TODO, why or EndStatus.INTERRUPTED)
            await self._context.move(task, after, why)
        await self._context.release(task)
