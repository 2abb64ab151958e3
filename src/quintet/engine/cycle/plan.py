"""Makes a plan: asks the planner, reads its pages, and puts them into the staging folder until the plan is accepted.

The native planner is a turn in work mode plan whose answer holds the pages; an AI CLI writes them into the folder. What
is malformed, circular or depends on nothing that exists is no plan, and the pages stay where they are. Words alone are
none either: that nothing is to be done is said by a line of its own.
"""

from __future__ import annotations

from msgspec import UNSET, Struct

from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import AxesChange, WorkMode
from quintet.domain.dials.transitions import Activity, Scope
from quintet.domain.journal.cycle_events import PlannedTask
from quintet.domain.journal.protocol import PlanMade
from quintet.domain.tasks.cycle import Stop
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.page import new_tasks, pages_in, read_pages, without_nothing, write_page
from quintet.domain.tasks.roles import NATIVE, ExecutorRole
from quintet.domain.turn.corrections import asks_back
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.reports import Order
from quintet.engine.cycle.context import CycleContext, rest_after
from quintet.engine.cycle.executor import ExecutorStart
from quintet.engine.session import dials
from quintet.engine.turn.turn import Turn
from quintet.engine.turn.turn_runner import StepResult, TurnWork

PLAN_PAGE = "cycle/plan.md"


class Planned(Struct, frozen=True):
    """What a planner answered."""

    pages: tuple[tuple[str, str], ...]
    words: str  # all of it


class PlanStep:
    def __init__(self, context: CycleContext) -> None:
        self._context = context

    async def make(self) -> Stop | None:
        """None if a plan was made, be it that it adds nothing."""
        context, cycle = self._context, self._context.cycle
        context.journal.post(context.at(CyclePhase.PLANNING, iteration=cycle.iteration + 1, by=cycle.roles.planner))
        made = await (self._native() if cycle.roles.planner == NATIVE else self._by_cli())
        if isinstance(made, Stop):
            return made
        if not made.pages and (rest := self._unplanned(made.words)):
            return rest
        try:
            texts = new_tasks(
                read_pages(made.pages), context.tasks.standing(cycle.plan.milestones), context.tasks.ids()
            )
            context.tasks.check(texts)
        except UsageError as error:
            return Stop(EndStatus.FAILED, f"the plan cannot be used. {error.message}")
        context.core.cycle.plans.keep(cycle.run, [(f"{text.id}.md", write_page(text)) for text in texts])
        planned = tuple(PlannedTask(t.id, t.title, t.depends_on, t.verification) for t in texts)
        milestone = context.core.ids.new("m")
        await context.journal.append(
            PlanMade(
                run=cycle.run,
                milestone=milestone,
                by=cycle.roles.planner,
                tasks=planned,
                words=UNSET if planned or not (words := _said(made.words)) else words,
            )
        )
        if not planned and cycle.plan.milestones:  # a plan was built before: the dial stands where it stood
            self.turn(WorkMode.BUILD, only_from=WorkMode.PLAN)
        return None

    def _unplanned(self, words: str) -> Stop | None:
        """Why an answer without tasks is no plan. Where a plan was built before, words say that nothing is missing."""
        context, cycle = self._context, self._context.cycle
        asks, thinks = asks_back(words), context.staged or cycle.roles.planner != NATIVE
        if not asks and (without_nothing(words) is not None or cycle.plan.milestones or not thinks):
            return None
        status = EndStatus.WAITING if context.core.person else EndStatus.BLOCKED
        said = words.strip() or "(it said nothing)"
        return Stop(status, f"the planner asks: {said}" if asks else f"the planner planned nothing: {said}")

    def turn(self, work_mode: WorkMode, *, only_from: WorkMode) -> None:
        """The user's request for a cycle is one for plan, then build: the change is theirs, and on record as such."""
        state = self._context.state
        if state.axes.work_mode is only_from:
            change = AxesChange(work_mode=work_mode)
            wanted = dials.new(self._context.core.ids, change, Scope.NOW, "the cycle that you started")
            self._context.journal.post(dials.turn(state, wanted, Activity()))

    async def _native(self) -> Planned | Stop:
        context, cycle = self._context, self._context.cycle
        staged = context.staged
        if staged:
            self.turn(WorkMode.PLAN, only_from=WorkMode.BUILD)
            if context.state.axes.work_mode is not WorkMode.PLAN:
                return Stop(EndStatus.PAUSED, f"plans need work mode plan; this is {context.state.axes.work_mode}")
        text = self._told(cycle.text) if staged else cycle.text
        work = TurnWork(
            text,
            context.state.axes.surface,
            order=Order("plan", cycle.run),
            run=cycle.run,
            alone=False,
            in_any_mode=not staged,  # the rules plan by splitting what was said
        )
        result = await context.turns.run(work)
        if result.finished.status is EndStatus.DONE:
            answer = result.finished.answer
            return Planned(tuple(pages_in(answer)), answer if staged else "")
        return rest_after(result)

    async def _by_cli(self) -> Planned | Stop:
        context, cycle = self._context, self._context.cycle
        folder = context.core.cycle.plans.folder(cycle.run)
        context.core.cycle.plans.clear(cycle.run)

        async def step(turn: Turn) -> StepResult[Planned]:
            start = ExecutorStart(context, cycle.roles.planner, ExecutorRole.PLAN, turn, folder)
            answer = (await start.run(context.core.turn.prompts.filled(PLAN_PAGE, self._values(folder)))).answer
            pages = tuple(context.core.cycle.plans.pages(cycle.run)) or tuple(pages_in(answer))
            return StepResult(answer, Planned(pages, answer))

        work = TurnWork("", context.state.axes.surface, run=cycle.run, alone=False)
        result = await context.turns.run_step(work, step)
        return rest_after(result) if result.value is None else result.value

    def _told(self, text: str) -> str:
        """What a model is asked to plan: the text, what is done, what is open."""
        parts = [text.strip()]
        if done := self._context.tasks.summary():
            parts.append(f"Completed so far:\n\n{done}")
        if open_tasks := self._context.tasks.open_list(self._context.cycle.scope):
            parts.append(f"Open tasks:\n{open_tasks}")
        return "\n\n".join(parts)

    def _values(self, folder: str) -> dict[str, str]:
        return {
            "project_root": self._context.core.project,
            "user_input": self._told(self._context.cycle.text),
            "last_step_outcome": folder,
        }


def _said(words: str) -> str:
    """What a planner said beside the line that nothing is left to do."""
    before = without_nothing(words)
    return words if before is None else before
