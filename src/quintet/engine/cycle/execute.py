"""Does one unit: one attempt at one task, claimed before it begins and let go of when it is over.

A native unit is one turn whose input is the task; an AI CLI is started once for it, attempts aside. Both are told the
same of it (`domain/tasks/brief`); the offline rules get its body alone, which is all that they read. However the unit
ends, the task's row and file say so; what was cut short goes back to todo and counts as no retry.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from quintet.domain.base.errors import QuintetError, TaskTaken
from quintet.domain.dials.axes import WorkMode
from quintet.domain.dials.transitions import Boundary, Scope
from quintet.domain.journal.cycle_state import budget_spent
from quintet.domain.journal.protocol import QuestionAsked
from quintet.domain.journal.reasons import refused
from quintet.domain.permission.answers import APPROVAL, YES
from quintet.domain.tasks.brief import NOTHING_YET, brief
from quintet.domain.tasks.cycle import Stop, is_kept_back
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.page import request_of
from quintet.domain.tasks.roles import NATIVE, ExecutorRole
from quintet.domain.tasks.task import Mutation, Risk, Task, TaskStatus
from quintet.domain.turn.messages import EndStatus
from quintet.engine.cycle.context import CycleContext, rest_after, run_to_end
from quintet.engine.cycle.executor import ExecutorStart, why
from quintet.engine.cycle.task_keeper import MAY_HAVE_PUBLISHED
from quintet.engine.session import dials
from quintet.engine.turn.turn import Turn
from quintet.engine.turn.turn_runner import StepResult, TurnResult, TurnWork

EXECUTE_PAGE, UNIT_PAGE = "cycle/execute.md", "cycle/unit.md"
S = TaskStatus


class UnitStep:
    def __init__(self, context: CycleContext) -> None:
        self._context = context

    async def execute(self, task: Task, current: int, total: int) -> Stop | None:
        """None if the cycle continues, whatever became of the task."""
        context, journal = self._context, self._context.journal
        if task.cost_budget and task.cost_spent >= task.cost_budget:
            return Stop(EndStatus.LIMIT, budget_spent(task.id, task.cost_budget, task.cost_spent))
        if rest := await self._approved(task):
            return rest
        if not await context.claim(task):
            return None
        attempt = context.tasks.units(task.id) + 1
        context.landed(dials.reach(context.state, Boundary.UNIT_START))
        by = context.cycle.roles.executor
        task = await run_to_end(context.move(task, S.RUNNING, f"attempt {attempt}"))  # cut short, it is put back below
        place = {"attempt": attempt, "current": current, "total": total}
        axes = context.state.axes
        if axes.work_mode is not WorkMode.BUILD or is_kept_back(task, axes.permission_profile):
            await run_to_end(self._put_back(task, "a dial was changed before it started"))
            return None
        try:
            await journal.append(context.at(CyclePhase.EXECUTING, task, by=by, **place, **_bounds(task)))
            result = await self._carried_out(task, by)
            rest = await run_to_end(self._settled(task, by, result))
        except asyncio.CancelledError:
            await run_to_end(self._put_back(task, "interrupted", scope=Scope.NOW))
            raise
        except QuintetError as error:
            await run_to_end(self._put_back(task, error.message))
            raise
        return rest

    async def _approved(self, task: Task) -> Stop | None:
        risky = task.text.risk is Risk.HIGH
        if not task.text.asks_first or self._context.tasks.units(task.id):
            return None
        core = self._context.core
        if not core.person:
            why = " (risk: high)" if risky else ""
            wants = f"task {task.id} needs your approval before it starts{why}; nobody can approve it in this run"
            return Stop(EndStatus.BLOCKED, f"{wants}\n{self._context.how_to_be_asked}")
        detail = (f"changes    {task.text.mutation}", f"risk       {task.text.risk}", *task.text.body.splitlines()[:10])
        question = QuestionAsked(
            question=core.ids.new("q"),
            kind="approve",
            text=f"Start {task.id}: {task.title}?",
            choices=APPROVAL,
            detail=detail,
        )
        answer = await self._context.questions.ask(question)
        if answer.choice == YES:
            return None
        return Stop(EndStatus.PAUSED, f"task {task.id} was not approved{f': {answer.note}' if answer.note else ''}")

    async def _carried_out(self, task: Task, by: str) -> TurnResult[None]:
        context, cycle = self._context, self._context.cycle
        surface, prompts = context.state.axes.surface, context.core.turn.prompts
        if by == NATIVE:
            if context.staged:
                text = prompts.filled(UNIT_PAGE, self._told(task)).strip()
            else:
                text = request_of(task.text.body) or task.title
            return await context.turns.run(TurnWork(text, surface, run=cycle.run, alone=False))

        async def step(turn: Turn) -> StepResult[None]:
            start = ExecutorStart(context, by, ExecutorRole.EXECUTE, turn)
            ended = await start.run(prompts.filled(EXECUTE_PAGE, self._told(task)))
            return StepResult(ended.answer, None, "" if ended.ok else why(by, ended))

        return await context.turns.run_step(TurnWork("", surface, run=cycle.run, alone=False), step)

    def _told(self, task: Task) -> dict[str, str]:
        """What whoever does the task is told: all that its page says, and what was completed before."""
        return {
            "project_root": self._context.core.project,
            "user_input": brief(task.text, task.text.body),
            "tool_summary": self._context.tasks.summary() or NOTHING_YET,
        }

    async def _settled(self, task: Task, by: str, result: TurnResult[None]) -> Stop | None:
        context, ending = self._context, result.finished
        await context.tasks.note(task.id, ending.cost, ending.turn)
        await context.claims.beat(task.id, by)  # with how full the conversation is at the unit's end
        match ending.status:
            case EndStatus.DONE if not result.refused:
                done = await context.move(task, S.VERIFYING, "its attempt is done")
                context.journal.post(context.at(CyclePhase.MOVING_COMPLETED, done))
                return self._overspent(done)
            case EndStatus.INTERRUPTED | EndStatus.CANCELLED | EndStatus.LIMIT:
                cut_short = ending.status is not EndStatus.LIMIT
                await self._put_back(task, ending.reason, scope=Scope.NOW if cut_short else "")
                return rest_after(result)
            case EndStatus.BLOCKED if not result.refused:
                await context.move(task, S.BLOCKED, refused(ending.reason))
                context.end_unit()
                return rest_after(result)
        if ending.error:  # of the model, the executor or Quintet: nothing of the task's is wrong
            await self._put_back(task, ending.reason)
            return rest_after(result)
        await context.fail(task, by, ending.answer or ending.reason)
        return None

    def _overspent(self, task: Task) -> Stop | None:
        spent = self._context.tasks.find(task.id)
        if spent.cost_budget and spent.cost_spent > spent.cost_budget:
            return Stop(EndStatus.LIMIT, budget_spent(task.id, spent.cost_budget, spent.cost_spent))
        return None

    async def _put_back(self, task: Task, why: str, scope: str = "") -> None:
        with contextlib.suppress(TaskTaken):  # then it is another's, and so is what becomes of it
            unsure = self._context.cycle.unit.unsure == task.id
            after, why = (S.BLOCKED, MAY_HAVE_PUBLISHED) if unsure else (S.TODO, why or EndStatus.INTERRUPTED)
            await self._context.move(task, after, why, scope=scope)
        await self._context.release(task)


def _bounds(task: Task) -> dict[str, Any]:
    """What the unit of a task is held to, as the journal says it."""
    bounds: dict[str, Any] = {"reads_only": True} if task.text.mutation is Mutation.NONE else {}
    return bounds | ({"cost_budget": task.cost_budget, "cost_spent": task.cost_spent} if task.cost_budget else {})
