"""Runs a cycle: plan, accept, execute, verify, and again, one step after the other as `domain/cycle` says.

One stretch goes from where control is given to where it returns to the person. Everything that has happened is in the
journal and in the tasks' rows, so a cycle whose process ended goes on from there: what was begun and not ended is put
back first, what is done stays done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from quintet.domain.agents.run import RunPhase
from quintet.domain.base.errors import QuintetError
from quintet.domain.dials.axes import AxesChange, RunControl, WorkMode
from quintet.domain.dials.transitions import Activity, Boundary, Scope
from quintet.domain.journal.protocol import (
    CycleBegan,
    CycleMoved,
    CycleResumed,
    CycleStopped,
    Event,
    InputReceived,
    PlanAccepted,
    QuestionAsked,
    TaskVerified,
)
from quintet.domain.journal.state import SessionState
from quintet.domain.tasks.cycle import Accept, Approve, Board, Execute, Plan, Rest, Step, Verify, next_step
from quintet.domain.tasks.cycle_phases import TERMINAL, CyclePhase
from quintet.domain.tasks.executors import NATIVE
from quintet.domain.tasks.page import new_tasks, read_pages, write_page
from quintet.domain.tasks.task import Approval, Task, TaskStatus
from quintet.domain.tasks.verdicts import VerifyOutcome
from quintet.domain.turn.messages import EndStatus
from quintet.engine.agents import runs
from quintet.engine.commands.cycle import withdrawn
from quintet.engine.cycle.context import Workshop, surely, task_moved
from quintet.engine.cycle.execute import UnitStep
from quintet.engine.cycle.health_gate import HealthGate
from quintet.engine.cycle.plan import PlanStep
from quintet.engine.cycle.verify import VerifyStep
from quintet.engine.session import dials
from quintet.engine.session.questions import APPROVAL, YES

REF = "cycle"  # what a cycle's run says it works on
AFTER = {
    "done": RunPhase.COMPLETED,
    "failed": RunPhase.FAILED,
    "limit": RunPhase.FAILED,
    "cancelled": RunPhase.CANCELLED,
}


class CycleRun:
    def __init__(self, shop: Workshop, offer: Callable[[], None]) -> None:
        self._shop = shop
        self._offer = offer  # asks the person whether a plan is to be built
        self._planner = PlanStep(shop)
        self._units = UnitStep(shop)
        self._verifier = VerifyStep(shop)
        self._health = HealthGate(shop)
        shop.began = shop.core.clock.monotonic()

    async def run(self, first: InputReceived) -> None:
        """One stretch; how it ended is on record when this returns."""
        core = self._shop.core
        try:
            await self._begin(first)
            rest = await self._steps()
        except asyncio.CancelledError:
            ending = self._shop.turns.ending
            rest = Rest(ending, "stopped by /stop" if ending is EndStatus.CANCELLED else "interrupted")
        except QuintetError as error:
            rest = Rest(EndStatus.FAILED, str(error))
        except Exception as error:
            core.log.crash(error)
            rest = Rest(EndStatus.FAILED, f"{type(error).__name__}: {error}")
        if self._state.cycle and self._state.cycle.at_work:
            await surely(self._stop(rest))

    @property
    def _state(self) -> SessionState:
        return self._shop.journal.state

    # ── the beginning

    async def _begin(self, first: InputReceived) -> None:
        shop, state = self._shop, self._state
        for event in withdrawn(state, "the cycle goes on"):
            shop.journal.post(event)
        cycle, wanted = state.cycle, first.order.subject if first.order else ""
        goes_on = bool(first.order and first.order.kind == "build" and cycle and cycle.run == wanted)
        put_back = await shop.tasks.recover(state.session, cycle.unit.unsure if cycle else "")
        if goes_on and cycle and wanted in state.runs.known:
            resumed = CycleResumed(run=wanted, submission=first.submission, reason=first.text or "goes on")
            taken = [] if state.runs.active == wanted else runs.put_aside(shop.core, state, "a cycle goes on")
            await shop.journal.append(*taken, resumed, *runs.begun(shop.core, state, wanted))
        else:
            await shop.journal.append(*self._fresh(first))
        for task, move in put_back:
            shop.journal.post(task_moved(task, move, shop.cycle.run))
        self._moved(CyclePhase.CHECKING_DONE)

    def _fresh(self, first: InputReceived) -> list[Event]:
        core, state, settings = self._shop.core, self._state, self._shop.core.settings.cycle
        plans = not (first.order and first.order.kind == "build")
        started = runs.create(core, REF, None)
        run = started.run.run_id
        began = CycleBegan(
            run=run,
            submission=first.submission,
            text=first.text,
            source=first.order.subject if first.order and plans else "",
            planner=settings.planner or NATIVE,
            executor=settings.executor or NATIVE,
            verifier=settings.verifier or settings.planner or NATIVE,
            plans=plans,
        )
        aside = runs.put_aside(core, state, "a cycle was begun")
        running = runs.moved(core, started.run, RunPhase.RUNNING)
        reading = CycleMoved(run=run, phase=CyclePhase.READING_INPUT, iteration=0)
        return [*aside, started, began, *running, reading]

    # ── the steps

    async def _steps(self) -> Rest:
        shop = self._shop
        while True:
            await shop.go.wait()
            found = shop.tasks.board(shop.cycle.scope, shop.owner)
            step = self._next(found)
            begun = shop.cycle.plan.planned or not shop.cycle.plans
            if begun and not isinstance(step, Verify | Approve | Execute | Accept):
                self._complete(found)
            rest = await self._carried_out(step, found)
            if rest:
                return rest

    def _next(self, found: Board) -> Step:
        shop, axes = self._shop, self._state.axes
        step = next_step(
            shop.cycle,
            found,
            axes.run_control,
            axes.permission_profile,
            shop.core.settings.cycle,
            replans=self._replans(),
            seconds=shop.seconds,
            person=shop.core.person,
        )
        if isinstance(step, Execute | Verify) and axes.work_mode is not WorkMode.BUILD:
            return Rest(
                EndStatus.PAUSED, f"tasks are done in work mode build, and this is {axes.work_mode}; /implement goes on"
            )
        return step

    def _replans(self) -> bool:
        """The offline rules plan what was said, once; who can think may think again."""
        cycle = self._shop.cycle
        return cycle.plans and (cycle.roles.planner != NATIVE or self._shop.staged)

    async def _carried_out(self, step: Step, found: Board) -> Rest | None:
        match step:
            case Rest():
                return step
            case Plan():
                return await self._planner.make()
            case Accept():
                return await self._accept()
            case Execute(task=task):
                return await self._execute(task, found)
            case Verify(task=task):
                return await self._verify(task)
            case Approve(task=task):
                return await self._approve(task)

    def _complete(self, found: Board) -> None:
        """Nothing is left to do of what was planned: one iteration is complete, and with it a milestone."""
        cycle = self._shop.cycle
        if cycle.phase in (CyclePhase.CYCLE_COMPLETE, *TERMINAL) or found.ready or cycle.plan.pending:
            return
        if cycle.phase is CyclePhase.CHECKING_DONE:
            self._moved(CyclePhase.CHECKING_TODO)
        self._moved(CyclePhase.CYCLE_COMPLETE)
        if not found.left and (landed := dials.reach(self._state, Boundary.MILESTONE_END)):
            self._shop.journal.post(*landed)

    async def _accept(self) -> Rest | None:
        shop, cycle = self._shop, self._shop.cycle
        by = "user" if cycle.plan.accepted else str(RunControl.AUTONOMOUS)
        added = shop.tasks.of_milestone(cycle.plan.pending)  # a crash may have come right behind
        if not added:
            pages = shop.core.cycle.plans.pages(cycle.run)
            if not pages:
                return Rest(
                    EndStatus.FAILED,
                    f"the plan is gone from {shop.core.cycle.plans.folder(cycle.run)}; /plan makes it again",
                )
            texts = new_tasks(read_pages(pages), (), shop.tasks.ids())  # another plan may have been quicker
            pages = [(f"{text.id}.md", write_page(text)) for text in texts]
            retries = shop.core.settings.cycle.max_retries
            axes = AxesChange(work_mode=WorkMode.BUILD).applied_to(self._state.axes)
            tasks = await shop.tasks.add(
                pages, axes, milestone=cycle.plan.pending, max_retries=retries, reason=f"plan accepted by {by}"
            )
            added = [task.id for task in tasks]
        events: list[Event] = [
            PlanAccepted(run=cycle.run, milestone=cycle.plan.pending, tasks=tuple(added), by=by),
            *self._to_build(),
        ]
        await shop.journal.append(*events)
        shop.core.cycle.plans.clear(cycle.run)
        self._moved(CyclePhase.CHECKING_TODO)
        return None

    def _to_build(self) -> list[Event]:
        """Plan, then build: that is what the user asked for when they asked for a cycle."""
        if self._state.axes.work_mode is not WorkMode.PLAN:
            return []
        change = AxesChange(work_mode=WorkMode.BUILD)
        wanted = dials.new(self._shop.core.ids, change, Scope.NOW, "the plan is accepted")
        return [dials.turn(self._state, wanted, Activity())]

    async def _execute(self, task: Task, found: Board) -> Rest | None:
        if rest := await self._health.check():
            return rest
        if self._state.axes.work_mode is not WorkMode.BUILD:  # a dial was turned while something was asked
            return None
        if self._shop.cycle.phase is CyclePhase.CHECKING_DONE:
            self._moved(CyclePhase.CHECKING_TODO)
        self._moved(CyclePhase.PROCESSING, task, current=found.place, total=found.total)
        return await self._units.execute(task, found.place, found.total)

    async def _verify(self, task: Task) -> Rest | None:
        shop, cycle = self._shop, self._shop.cycle
        if not await self._units.claim(task):
            return None
        await shop.checkpoints.settle()  # what its unit changed is part of what shows that it is done
        self._moved(CyclePhase.VERIFYING, task, by=cycle.roles.verifier)
        verdict = await self._verifier.verify(task)
        if isinstance(verdict, Rest):
            await surely(self._units.let_go(task.id))
            return verdict
        await shop.journal.append(
            TaskVerified(
                run=cycle.run,
                task=task.id,
                title=task.title,
                passed=verdict.outcome is VerifyOutcome.VERIFIED,
                by=verdict.by,
                command=verdict.command,
                evidence=verdict.evidence,
                findings=verdict.findings,
                unverified=verdict.outcome is VerifyOutcome.NOT_VERIFIED,
            )
        )
        self._moved(CyclePhase.CLEANING_UP, task)
        if verdict.outcome is VerifyOutcome.FAILED:
            await surely(self._units.failed(task, verdict.by, verdict.findings))
        elif verdict.outcome is VerifyOutcome.NOT_VERIFIED:
            await surely(self._left_open(task, f"{VerifyOutcome.NOT_VERIFIED}: {verdict.findings}"))
        elif task.text.approval is Approval.AFTER:
            await surely(shop.move(task, TaskStatus.REVIEWING, "verified; waits for approval"))
        else:
            await surely(self._done(task, f"verified by {verdict.by}"))
        return None

    async def _left_open(self, task: Task, reason: str) -> None:
        """Nothing shows that it is done: that is for a person to say."""
        await self._shop.move(task, TaskStatus.REVIEWING, reason)
        await self._units.let_go(task.id)
        self._units.unit_over()

    async def _done(self, task: Task, reason: str) -> None:
        await self._shop.move(task, TaskStatus.DONE, reason)
        await self._units.let_go(task.id)
        self._units.unit_over()

    async def _approve(self, task: Task) -> Rest | None:
        core, why = self._shop.core, self._shop.tasks.why(task.id)
        unverified = why if why.startswith(VerifyOutcome.NOT_VERIFIED) else ""
        if not core.person:
            stands = f"is {unverified}" if unverified else "is verified and wants your approval"
            return Rest(EndStatus.BLOCKED, f"task {task.id} {stands}; nobody is attached to ask")
        if not await self._units.claim(task):
            return None
        question = QuestionAsked(
            question=core.ids.new("q"),
            kind="approve",
            text=f"is {task.id} done: {task.title}?",
            choices=APPROVAL,
            detail=(unverified,) if unverified else (),
        )
        answer = await self._shop.questions.ask(question)
        if answer.choice == YES:
            await surely(self._done(task, "approved by the user"))
        else:
            await surely(self._units.failed(task, "the user", answer.note or "not approved"))
        return None

    def _moved(self, phase: CyclePhase, task: Task | None = None, **more: Any) -> None:
        self._shop.journal.post(self._shop.at(phase, task, **more))

    # ── the end

    async def _stop(self, rest: Rest) -> None:
        shop, cycle = self._shop, self._shop.cycle
        await self._units.close()
        found = shop.tasks.board(cycle.scope, shop.owner)
        if rest.phase:
            self._moved(rest.phase)
        run = self._state.runs.known.get(cycle.run)
        after = AFTER.get(rest.status, RunPhase.WAITING_USER)
        moved = runs.moved(shop.core, run, after, rest.reason) if run else []
        stopped = CycleStopped(
            run=cycle.run,
            submission=cycle.submission,
            status=rest.status,
            phase=rest.phase or cycle.phase,
            reason=rest.reason,
            answer=shop.tasks.report(cycle.scope),
            done=found.done,
            failed=found.failed,
            left=found.left,
            units=cycle.spent.units,
            iterations=cycle.iteration,
            seconds=round(cycle.spent.seconds + shop.seconds, 3),
            usage=cycle.spent.usage,
            cost=cycle.spent.cost,
        )
        await shop.journal.append(stopped, *moved)
        if rest.status == EndStatus.WAITING and cycle.plan.pending and shop.core.person:
            self._offer()
