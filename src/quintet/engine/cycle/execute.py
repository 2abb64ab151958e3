"""Does one unit: one attempt at one task, claimed before it begins and let go of when it is over.

A native unit is one turn whose input is the task's body; an AI CLI is started once for it, attempts aside. However the
unit ends, the task's row and file say so; what was cut short goes back to todo and counts as no retry.
"""

from __future__ import annotations

import asyncio
import contextlib

from quintet.domain.base.errors import QuintetError, TaskTaken
from quintet.domain.dials.transitions import Boundary
from quintet.domain.journal.protocol import Interrupt, QuestionAsked, Submitted
from quintet.domain.tasks.cycle import Rest
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.executors import NATIVE, ExecutorRole
from quintet.domain.tasks.page import findings_page, request_of
from quintet.domain.tasks.task import Approval, Task, TaskStatus, after_failure
from quintet.domain.turn.messages import EndStatus
from quintet.engine.cycle.context import Workshop, rest_after, surely
from quintet.engine.cycle.executor import ExecutorStart, why
from quintet.engine.cycle.task_keeper import MAY_HAVE_PUBLISHED
from quintet.engine.session import dials
from quintet.engine.session.leases import HEARTBEAT_SECONDS
from quintet.engine.session.questions import APPROVAL, YES
from quintet.engine.turn.turn import Turn
from quintet.engine.turn.turn_runner import StepResult, TurnResult, TurnWork

EXECUTE_PAGE = "cycle/execute.md"
MOST_REASON = 200  # characters of what is written beside a move; the page has all of it
S = TaskStatus


class UnitStep:
    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._beats: dict[str, asyncio.Task[None]] = {}

    # ── claims

    async def claim(self, task: Task) -> bool:
        """Make the task this session's; False if another process was quicker."""
        shop = self._shop
        try:
            await shop.tasks.claim(task.id, shop.owner, model=shop.cycle.roles.executor)
        except TaskTaken:
            return False
        if task.id not in self._beats:
            self._beats[task.id] = asyncio.create_task(self._beat(task.id))
        return True

    async def let_go(self, task: str) -> None:
        if beat := self._beats.pop(task, None):
            beat.cancel()
            await asyncio.gather(beat, return_exceptions=True)
        await self._shop.tasks.let_go(task, self._shop.owner)

    async def close(self) -> None:
        for task in list(self._beats):
            await self.let_go(task)

    async def _beat(self, task: str) -> None:
        """Keep the claim; where it is lost, interrupt the unit: two never work at one task."""
        shop = self._shop
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            try:
                await shop.tasks.beat(task, shop.owner, shop.cycle.roles.executor)
            except QuintetError as error:
                turn = shop.state.turns.open.turn if shop.state.turns.open else ""
                stop = Submitted(f"beat-{task}-{turn}", Interrupt(), shop.state.axes.surface)
                with contextlib.suppress(QuintetError):
                    await shop.core.store.submit(shop.state.session, stop, "")
                shop.core.log.note(f"task {task}: {error}")
                return

    # ── the unit

    async def execute(self, task: Task, current: int, total: int) -> Rest | None:
        """None if the cycle goes on, whatever became of the task."""
        shop, journal = self._shop, self._shop.journal
        if rest := await self._approved(task):
            return rest
        if not await self.claim(task):
            return None
        attempt = shop.tasks.units(task.id) + 1
        if landed := dials.reach(shop.state, Boundary.UNIT_START):
            journal.post(*landed)
        task = await shop.move(task, S.RUNNING, f"unit {attempt}")
        place = {"attempt": attempt, "current": current, "total": total}
        await journal.append(shop.at(CyclePhase.EXECUTING, task, by=shop.cycle.roles.executor, **place))
        try:
            result = await self._carried_out(task)
            rest = await surely(self._settled(task, result))
        except asyncio.CancelledError:
            await surely(self._put_back(task, "interrupted"))
            raise
        except QuintetError as error:
            await surely(self._put_back(task, error.message))
            raise
        return rest

    async def _approved(self, task: Task) -> Rest | None:
        if task.text.approval is not Approval.BEFORE or self._shop.tasks.units(task.id):
            return None
        core = self._shop.core
        if not core.person:
            return Rest(
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
        answer = await self._shop.questions.ask(question)
        if answer.choice == YES:
            return None
        return Rest(EndStatus.PAUSED, f"task {task.id} was not approved{f': {answer.note}' if answer.note else ''}")

    async def _carried_out(self, task: Task) -> TurnResult[None]:
        shop, cycle = self._shop, self._shop.cycle
        surface = shop.state.axes.surface
        if cycle.roles.executor == NATIVE:
            body = task.text.body.strip() if shop.staged else request_of(task.text.body)
            return await shop.turns.run(TurnWork(body or task.title, surface, run=cycle.run, alone=False))

        async def step(turn: Turn) -> StepResult[None]:
            values = {
                "project_root": shop.core.project,
                "user_input": f"{task.title}\n\n{task.text.body.strip()}",
                "tool_summary": shop.tasks.summary(),
            }
            start = ExecutorStart(shop, cycle.roles.executor, ExecutorRole.EXECUTE, turn)
            ended = await start.run(shop.core.turn.prompts.filled(EXECUTE_PAGE, values))
            return StepResult(ended.answer, None, "" if ended.ok else why(cycle.roles.executor, ended))

        return await shop.turns.run_step(TurnWork("", surface, run=cycle.run, alone=False), step)

    async def _settled(self, task: Task, result: TurnResult[None]) -> Rest | None:
        shop, ending = self._shop, result.finished
        await shop.tasks.note(task.id, ending.cost, ending.turn)
        match ending.status:
            case EndStatus.DONE:
                done = await shop.move(task, S.VERIFYING, "its unit is done")
                shop.journal.post(shop.at(CyclePhase.MOVING_COMPLETED, done))
                return self._overspent(done)
            case EndStatus.INTERRUPTED | EndStatus.CANCELLED | EndStatus.LIMIT:
                await self._put_back(task, ending.reason)
                return rest_after(result)
            case EndStatus.BLOCKED if not result.refused:
                await shop.move(task, S.BLOCKED, ending.reason)
                self.unit_over()
                return rest_after(result)
        if ending.error:  # of the model, the executor or Quintet: nothing of the task's is wrong
            await self._put_back(task, ending.reason)
            return rest_after(result)
        await self.failed(task, shop.cycle.roles.executor, ending.answer or ending.reason)
        return None

    def _overspent(self, task: Task) -> Rest | None:
        spent = self._shop.tasks.find(task.id)
        if spent.cost_budget and spent.cost_spent > spent.cost_budget:
            return Rest(
                EndStatus.LIMIT, f"task {task.id} has a budget of {spent.cost_budget:g}, spent {spent.cost_spent:.4f}"
            )
        return None

    async def failed(self, task: Task, by: str, why: str) -> None:
        """A unit failed, or its verification did: the task goes back with what was found, or has failed for good."""
        after = after_failure(task)
        findings = findings_page(task.retries + 1, by, why)
        first = why.strip().partition("\n")[0][:MOST_REASON]
        await self._shop.move(task, after, f"not done, by {by}: {first}", findings=findings)
        await self.let_go(task.id)
        self.unit_over()

    async def _put_back(self, task: Task, why: str) -> None:
        with contextlib.suppress(TaskTaken):  # then it is another's, and so is what becomes of it
            unsure = self._shop.cycle.unit.unsure == task.id
            after, why = (S.BLOCKED, MAY_HAVE_PUBLISHED) if unsure else (S.TODO, why or EndStatus.INTERRUPTED)
            await self._shop.move(task, after, why)
        await self.let_go(task.id)
        self.unit_over()

    def unit_over(self) -> None:
        if landed := dials.reach(self._shop.state, Boundary.UNIT_END):
            self._shop.journal.post(*landed)
