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
)
from quintet.domain.journal.reasons import TaskCause, not_verified, task_cause_of
from quintet.domain.journal.state import SessionState
from quintet.domain.memory.shown import PlanShown, RunShown, TaskShown
from quintet.domain.permission.answers import APPROVAL, YES
from quintet.domain.tasks.cycle import Accept, Approve, Board, Execute, Plan, Step, Stop, Verify, next_step
from quintet.domain.tasks.cycle_phases import TERMINAL, CyclePhase
from quintet.domain.tasks.page import new_tasks, read_pages, write_page
from quintet.domain.tasks.roles import NATIVE, roles_in_use
from quintet.domain.tasks.task import Approval, Task, TaskMove, TaskStatus
from quintet.domain.tasks.verdicts import VerifyOutcome
from quintet.domain.turn.messages import EndStatus
from quintet.engine.agents import runs
from quintet.engine.cycle.context import CycleContext, run_to_end, task_moved
from quintet.engine.cycle.execute import UnitStep
from quintet.engine.cycle.health_gate import HealthGate
from quintet.engine.cycle.integrate import IntegrateStep
from quintet.engine.cycle.plan import PlanStep
from quintet.engine.cycle.verify import Verification, VerifyStep, task_verified
from quintet.engine.session import dials
from quintet.engine.session.questions import QuestionAbout
from quintet.engine.turn.recall import learn

USER = "user"
REF = "cycle"  # what a cycle's run says it works on
AFTER = {
    "done": RunPhase.COMPLETED,
    "failed": RunPhase.FAILED,
    "limit": RunPhase.FAILED,
    "cancelled": RunPhase.CANCELLED,
}


class CycleRun:
    def __init__(self, context: CycleContext, offer: Callable[[], None]) -> None:
        self._context = context
        self._offer = offer  # asks the person whether a plan is to be built
        self._planner = PlanStep(context)
        self._units = UnitStep(context)
        self._verifier = VerifyStep(context)
        self._health = HealthGate(context)
        self._accepted: set[str] = set()  # tasks of plans that the user accepted
        context.began = context.core.clock.monotonic()

    async def run(self, first: InputReceived) -> Stop:
        """One stretch; how it ended is on record when this returns, unless it did not even begin."""
        core = self._context.core
        try:
            await self._begin(first)
            rest = await self._steps()
        except asyncio.CancelledError:
            ending = self._context.turns.ending
            rest = Stop(ending, "stopped by /stop" if ending is EndStatus.CANCELLED else "interrupted")
        except QuintetError as error:
            rest = Stop(EndStatus.FAILED, str(error))
        except Exception as error:
            core.log.crash(error)
            rest = Stop(EndStatus.FAILED, f"{type(error).__name__}: {error}")
        if self._state.cycle and self._state.cycle.at_work:
            await run_to_end(self._stop(rest))
        return rest

    @property
    def _state(self) -> SessionState:
        return self._context.journal.state

    # ── the beginning

    async def _begin(self, first: InputReceived) -> None:
        context, state = self._context, self._state
        for event in context.questions.withdrawn(QuestionAbout.PLAN, "the cycle continues"):
            context.journal.post(event)
        cycle, wanted = state.cycle, first.order.subject if first.order else ""
        goes_on = bool(first.order and first.order.kind == "build" and cycle and cycle.run == wanted)
        put_back = await context.tasks.recover(state.session, cycle.unit.unsure if cycle else "")
        if goes_on and cycle and wanted in state.runs.known:
            resumed = CycleResumed(run=wanted, submission=first.submission, reason=first.text or "goes on")
            taken = [] if state.runs.active == wanted else runs.put_aside(context.core, state, "a cycle continues")
            await context.journal.append(*taken, resumed, *runs.begin(context.core, state, wanted))
        else:
            await context.journal.append(*self._fresh(first))
        for task, move in [*put_back, *(await self._asked_again() if goes_on or not context.cycle.plans else ())]:
            context.journal.post(task_moved(task, move, context.cycle.run))
        self._moved(CyclePhase.CHECKING_DONE)

    async def _asked_again(self) -> list[tuple[Task, TaskMove]]:
        """What a task was not allowed may be allowed now: whoever gave control back wants it asked again."""
        tasks, scope = self._context.tasks, self._context.cycle.scope
        mine = [task for task in tasks.look().tasks if scope is None or task.milestone in scope]
        waiting = [task for task in mine if tasks.was_refused(task)]
        return [await tasks.move(task.id, TaskStatus.TODO, "asked again") for task in waiting]

    def _fresh(self, first: InputReceived) -> list[Event]:
        core, state = self._context.core, self._state
        roles = roles_in_use(state.executors, core.settings.cycle)
        plans = not (first.order and first.order.kind == "build")
        started = runs.create(core, REF, None)
        run = started.run.run_id
        began = CycleBegan(
            run=run,
            submission=first.submission,
            text=first.text,
            source=first.order.subject if first.order and plans else "",
            planner=roles.planner,
            executor=roles.executor,
            verifier=roles.verifier,
            plans=plans,
        )
        aside = runs.put_aside(core, state, "another cycle was started")
        running = runs.move(core, started.run, RunPhase.RUNNING)
        reading = CycleMoved(run=run, phase=CyclePhase.READING_INPUT, iteration=0)
        return [*aside, started, began, *running, reading]

    # ── the steps

    async def _steps(self) -> Stop:
        context = self._context
        while True:
            await context.go.wait()
            found = context.tasks.board(context.cycle.scope, context.claims.owner, person=context.core.person)
            step = self._next(found)
            begun = context.cycle.plan.planned or not context.cycle.plans
            if begun and not isinstance(step, Verify | Approve | Execute | Accept):
                self._complete(found)
            rest = await self._carried_out(step, found)
            if rest:
                return rest

    def _next(self, found: Board) -> Step:
        context, axes = self._context, self._state.axes
        begins = dials.after(self._state, Boundary.UNIT_START)  # where the dials stand when a unit begins
        step = next_step(
            context.cycle,
            found,
            axes.run_control,
            begins.permission_profile,
            context.core.settings.cycle,
            replans=self._replans(),
            seconds=context.seconds,
            person=context.core.person,
        )
        work_mode = begins.work_mode if isinstance(step, Execute) else axes.work_mode
        if isinstance(step, Execute | Verify) and work_mode is not WorkMode.BUILD:
            return Stop(EndStatus.PAUSED, f"tasks need work mode build; this is {work_mode}. /implement continues")
        return step

    def _replans(self) -> bool:
        """The offline rules plan what was said, once; who can think may think again."""
        cycle = self._context.cycle
        return cycle.plans and (cycle.roles.planner != NATIVE or self._context.staged)

    async def _carried_out(self, step: Step, found: Board) -> Stop | None:
        match step:
            case Stop():
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
        cycle = self._context.cycle
        if cycle.phase in (CyclePhase.CYCLE_COMPLETE, *TERMINAL) or found.ready or cycle.plan.pending:
            return
        if cycle.phase is CyclePhase.CHECKING_DONE:
            self._moved(CyclePhase.CHECKING_TODO)
        self._moved(CyclePhase.CYCLE_COMPLETE)
        if not found.left and (landed := dials.reach(self._state, Boundary.MILESTONE_END)):
            self._context.journal.post(*landed)

    async def _accept(self) -> Stop | None:
        context, cycle = self._context, self._context.cycle
        by = USER if cycle.plan.accepted else str(RunControl.AUTONOMOUS)
        added = context.tasks.of_milestone(cycle.plan.pending)  # a crash may have come right behind
        if not added:
            pages = context.core.cycle.plans.pages(cycle.run)
            if not pages:
                return Stop(
                    EndStatus.FAILED,
                    f"the plan is no longer in {context.core.cycle.plans.folder(cycle.run)}; /plan makes it again",
                )
            texts = new_tasks(read_pages(pages), (), context.tasks.ids())  # another plan may have been quicker
            pages = [(f"{text.id}.md", write_page(text)) for text in texts]
            retries = context.core.settings.cycle.max_retries
            axes = AxesChange(work_mode=WorkMode.BUILD).applied_to(self._state.axes)
            tasks = await context.tasks.add(
                pages, axes, milestone=cycle.plan.pending, max_retries=retries, reason=f"plan accepted by {by}"
            )
            added = [task.id for task in tasks]
        events: list[Event] = [
            PlanAccepted(run=cycle.run, milestone=cycle.plan.pending, tasks=tuple(added), by=by),
            *self._to_build(),
        ]
        await context.journal.append(*events)
        if by == USER:
            self._accepted |= set(added)
            titles = tuple(task.title for task in context.tasks.look().tasks if task.id in added)
            await self._learn(RunShown(self._state.session, plan=PlanShown(cycle.plan.pending, titles)))
        context.core.cycle.plans.clear(cycle.run)
        self._moved(CyclePhase.CHECKING_TODO)
        return None

    def _to_build(self) -> list[Event]:
        """Plan, then build: that is what the user asked for when they asked for a cycle."""
        if self._state.axes.work_mode is not WorkMode.PLAN:
            return []
        change = AxesChange(work_mode=WorkMode.BUILD)
        wanted = dials.new(self._context.core.ids, change, Scope.NOW, "the plan is accepted")
        return [dials.turn(self._state, wanted, Activity())]

    async def _execute(self, task: Task, found: Board) -> Stop | None:
        if rest := await self._health.check():
            return rest
        if self._state.axes.work_mode is not WorkMode.BUILD:  # a dial was turned while something was asked
            return None
        if self._context.cycle.phase is CyclePhase.CHECKING_DONE:
            self._moved(CyclePhase.CHECKING_TODO)
        self._moved(CyclePhase.PROCESSING, task, current=found.place, total=found.total)
        return await self._units.execute(task, found.place, found.total)

    async def _verify(self, task: Task) -> Stop | None:
        context, cycle = self._context, self._context.cycle
        if not await self._context.claim(task):
            return None
        await context.checkpoints.settle()  # what its unit changed is part of what shows that it is done
        self._moved(CyclePhase.VERIFYING, task, by=cycle.roles.verifier)
        verdict = await self._verifier.verify(task)
        if isinstance(verdict, Stop):
            await run_to_end(context.claims.let_go(task.id))
            return verdict
        await context.journal.append(task_verified(cycle.run, task, verdict))
        self._moved(CyclePhase.CLEANING_UP, task)
        if verdict.outcome is VerifyOutcome.FAILED:
            await run_to_end(self._context.fail(task, verdict.by, verdict.findings))
        elif verdict.outcome is VerifyOutcome.NOT_VERIFIED:
            reason = not_verified(verdict.findings)
            await run_to_end(context.close_unit(task, TaskStatus.REVIEWING, reason))  # for a person to say
        elif task.text.approval is Approval.AFTER:
            await run_to_end(context.move(task, TaskStatus.REVIEWING, "verified; needs approval"))
        elif context.core.cycle.integration:
            rest = await IntegrateStep(context, self._verifier, context.core.cycle.integration).integrate(task, verdict)
            if rest:
                return rest
        else:
            await run_to_end(context.close_unit(task, TaskStatus.DONE, f"verified by {verdict.by}"))
        if verdict.outcome is VerifyOutcome.VERIFIED:
            await self._learn_of(task, verdict)
        return None

    async def _learn_of(self, task: Task, verdict: Verification) -> None:
        """What is kept of a task that is done; one that waits for approval, or was sent back, is not."""
        now = next((one for one in self._context.tasks.look().tasks if one.id == task.id), None)
        if now is None or now.status is not TaskStatus.DONE:
            return
        unit = self._context.cycle.unit
        files = unit.changed if unit.changed_by == task.id else ()
        title = task.title if task.id in self._accepted else ""  # else nobody but a model, or a page, wrote it
        shown = TaskShown(task.id, title, verdict.by, verdict.command, files)
        await self._learn(RunShown(self._state.session, task=shown))

    async def _learn(self, shown: RunShown) -> None:
        if learnt := await learn(self._context.core, shown):
            self._context.journal.post(*learnt)

    async def _approve(self, task: Task) -> Stop | None:
        core, why = self._context.core, self._context.tasks.why(task.id)
        unverified = why if task_cause_of(why) is TaskCause.NOT_VERIFIED else ""
        if not core.person:
            stands = f"is {unverified}" if unverified else "is verified and needs your approval"
            blocked = f"task {task.id} {stands}; nobody can approve it in this run"
            return Stop(EndStatus.BLOCKED, f"{blocked}\n{self._context.how_to_be_asked}")
        if not await self._context.claim(task):
            return None
        question = QuestionAsked(
            question=core.ids.new("q"),
            kind="approve",
            text=f"Is {task.id} done: {task.title}?",
            choices=APPROVAL,
            detail=(unverified,) if unverified else (),
        )
        answer = await self._context.questions.ask(question)
        if answer.choice == YES:
            await run_to_end(self._context.close_unit(task, TaskStatus.DONE, "approved by the user"))
        else:
            await run_to_end(self._context.fail(task, "the user", answer.note or "not approved"))
        return None

    def _moved(self, phase: CyclePhase, task: Task | None = None, **more: Any) -> None:
        self._context.journal.post(self._context.at(phase, task, **more))

    # ── the end

    async def _stop(self, rest: Stop) -> None:
        context, cycle = self._context, self._context.cycle
        await context.claims.close()
        found = context.tasks.board(cycle.scope, context.claims.owner)
        if rest.phase:
            self._moved(rest.phase)
        run = self._state.runs.known.get(cycle.run)
        after = AFTER.get(rest.status, RunPhase.WAITING_USER)
        moved = runs.move(context.core, run, after, rest.reason) if run else []
        stopped = CycleStopped(
            run=cycle.run,
            submission=cycle.submission,
            status=rest.status,
            phase=rest.phase or cycle.phase,
            reason=rest.reason,
            answer=context.tasks.report(cycle.scope),
            done=found.done,
            failed=found.failed,
            left=found.left,
            units=cycle.spent.units,
            iterations=cycle.iteration,
            seconds=round(cycle.spent.seconds + context.seconds, 3),
            usage=cycle.spent.usage,
            cost=cycle.spent.cost,
        )
        await context.journal.append(stopped, *moved)
        if rest.status == EndStatus.WAITING and cycle.plan.pending and context.core.person:
            self._offer()
