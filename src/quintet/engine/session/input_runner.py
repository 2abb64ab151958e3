"""Begins what the inputs of a session ask for, one after the other: an agent's command, a turn, or a cycle.

One task at a time does the work; it can be held, cut short, and continued after an interrupt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import structs

from quintet.domain.dials.transitions import Activity, Boundary
from quintet.domain.input import slash_line as command_line
from quintet.domain.journal.input_outcome import NOT_BEGUN
from quintet.domain.journal.protocol import CommandRan, Event, InputReceived, QuestionAnswered
from quintet.domain.journal.state import SessionState
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.reports import Order, ordered
from quintet.engine.checkpoints.keeper import CheckpointKeeper
from quintet.engine.commands import cycle as cycles
from quintet.engine.cycle.claims import TaskClaims
from quintet.engine.cycle.context import CycleContext
from quintet.engine.session import dials
from quintet.engine.session.command_context import TurnEffect
from quintet.engine.session.core import Core
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import QuestionAbout, Questions
from quintet.engine.turn.turn_runner import Turns, TurnWork


class InputRunner:
    def __init__(
        self,
        core: Core,
        journal: Journal,
        questions: Questions,
        keeper: CheckpointKeeper,
        owner: str,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._core = core
        self._journal = journal
        self._questions = questions
        self._keeper = keeper
        self._owner = owner  # of this session's claims on tasks
        self._failed = failed  # told of an error that the work does not survive
        self._go = asyncio.Event()
        self._go.set()
        self._skip = asyncio.Event()
        self._skip.set()
        self._turns = Turns(core, journal, questions, keeper, self._go)
        self._task: asyncio.Task[None] | None = None
        self._alone = False  # whether the task does one turn and nothing after it
        self._goes_on = False  # a turn is to be continued as soon as the task has let go
        self._stopped = False  # nothing more is begun: inputs wait for the next owner

    @property
    def _state(self) -> SessionState:
        return self._journal.state

    @property
    def busy(self) -> bool:
        """Whether a turn is under way, or about to be; one whose end is on record is over, though it lets go later."""
        return (self._task is not None and not self._lets_go) or self._state.turns.open is not None

    @property
    def _lets_go(self) -> bool:
        return self._alone and self._turns.ended

    @property
    def activity(self) -> Activity:
        turn, cycle = self._turns.current, self._state.cycle
        unit = self._state.turns.open is not None or bool(cycle and cycle.at_work and cycle.unit.task)
        return Activity(tool=bool(turn and turn.tool_active), unit=unit)

    # ── beginning and ending

    def start_next(self) -> None:
        if self._task is None and not self._stopped and (following := self._state.turns.following):
            self._begin(following)

    def _begin(self, first: InputReceived) -> None:
        self._turns.ending = EndStatus.INTERRUPTED
        self._go.set()
        self._alone = self._goes_on = False
        self._task = asyncio.create_task(self._run(first))
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()):
            self._failed(error)
        elif self._goes_on:
            self._continue()
        else:
            self.start_next()

    def cut_short(self, ending: EndStatus) -> asyncio.Task[None] | None:
        """Cancel the turn; it ends on its own time, and the inbox does not wait for it."""
        self._turns.ending = ending
        if self._task:
            self._task.cancel()
        return self._task

    async def close(self) -> None:
        self._stopped = True
        if task := self.cut_short(EndStatus.INTERRUPTED):
            await asyncio.gather(task, return_exceptions=True)

    def give_up(self) -> None:
        self._stopped = True
        if self._task:
            self._task.cancel()

    # ── what commands do to it

    def apply(self, effect: TurnEffect) -> None:
        match effect:
            case TurnEffect.HOLD:
                self._go.clear()
            case TurnEffect.LET_GO:
                self._go.set()
            case TurnEffect.STOP:
                self.cut_short(EndStatus.CANCELLED)
            case TurnEffect.CONTINUE:
                self._continue()
            case TurnEffect.ABORT_TOOL:
                if self._core.settings.dials.abort_active_tool and self._turns.current:
                    self._turns.current.abort_tools()

    def _continue(self) -> None:
        if self._task and self._lets_go:
            self._goes_on = True
        elif self._task is None and not self._stopped:
            order, axes = self._state.turns.order, self._state.axes
            order = order if order and order.kind == axes.work_mode else None
            self._begin(InputReceived(submission="", text="", surface=axes.surface, order=order))

    def skip_wait(self) -> bool:
        """End the wait before something is tried again; False if nothing waits."""
        waits = not self._skip.is_set()
        self._skip.set()
        return waits

    # ── the work

    async def _run(self, first: InputReceived) -> None:
        first = self._ordered(first)
        work = await self._work(first)
        if work is None or (work.text and not work.own and not await self._may_begin(work)):
            return
        asked = work.text if work.submission and not work.own else ""
        if not work.skill and cycles.begins_one(self._core, self._state, asked, work.order):
            await self._run_cycle(first)
        elif first.submission and work.order and work.order.kind == "repair":
            from quintet.engine.cycle.repair import repair  # most sessions repair nothing

            await repair(self._core, self._journal, self._turns, work)
        else:
            self._alone = True
            await self._turns.run(work)

    def _ordered(self, first: InputReceived) -> InputReceived:
        """An input with what it asks for in the work mode that it begins in, as the command of that name would."""
        plain = self._state.runs.agent is None and not self._state.helper and not first.skill
        free = first.submission and first.order is None and plain
        if not free or command_line.own_call(first.text) or self._core.turn.answer_schema:
            return first
        axes = dials.after(self._state, Boundary.UNIT_START)
        return structs.replace(first, order=ordered(axes.work_mode, first.text))

    async def _work(self, first: InputReceived) -> TurnWork | None:
        """The turn that an input is for; None if its agent has answered it."""
        submission, text, surface, order = first.submission, first.text, first.surface, first.order
        own = command_line.own_call(text)
        said = self._state.turns.commands.get(submission, text) if submission else ""
        routed_by_agent = self._state.runs.agent and not self._state.helper and not first.skill
        if not (routed_by_agent and submission and not own and order is None):
            run = "" if submission or order else self._state.runs.active
            typed, quoted, skill = self._was_typed(first), first.quoted or "", first.skill or None
            return TurnWork(
                text, surface, submission, order, run, own, typed=typed, quoted=quoted, said=said, skill=skill
            )
        from quintet.engine.agents.dispatch import dispatch  # most sessions have no agent

        routed = dispatch(self._core, self._state, text, surface)
        if routed.begins is None:
            await self._journal.append(*routed.events, routed.answer(submission, text))
            return None
        begins = routed.begins
        routed_events = tuple(routed.events)
        return TurnWork(begins.text, surface, submission, None, begins.run, begins.own, routed_events, said=said)

    def _was_typed(self, first: InputReceived) -> bool:
        """Whether an input is a shell line that was typed at this process's own terminal, and is to run so."""
        direct = self._core.settings.prompt.own_lines == "direct" and first.order is None
        return direct and command_line.is_shell_line(first.text) and self._core.ownership.typed_lines.take(first)

    async def _may_begin(self, work: TurnWork) -> bool:
        """Whether the user's hooks let the turn begin; if not, that is the answer to its input."""
        try:
            said = await Hooks(self._core, self._journal).run(HookPlace.USER_PROMPT_SUBMIT, prompt=work.text)
            if not said.blocked:
                return True
            why = said.reason
        except asyncio.CancelledError:
            if self._stopped:
                raise  # the input waits for the next owner
            why = "interrupted"
        await self._not_begun(work.submission, f"the turn did not start: {why}")
        return False

    async def _not_begun(self, submission: str, text: str) -> None:
        """The answer to an input that nothing came of: without one it would be begun again, for ever."""
        await self._journal.append(CommandRan(submission=submission, line="", text=text, ok=False, code=NOT_BEGUN))

    async def _run_cycle(self, first: InputReceived) -> None:
        from quintet.engine.cycle.cycle import CycleRun  # most sessions begin no cycle

        claims = TaskClaims(self._core, self._journal, self._owner)
        shared = (self._turns, self._questions, self._keeper, self._go, self._skip)
        context = CycleContext(self._core, self._journal, *shared, claims)
        rest = await CycleRun(context, self._offer_plan).run(first)
        if first in self._state.turns.waiting and not self._stopped:  # stopped, it waits for the next owner
            await self._not_begun(first.submission, f"the cycle did not start: {rest.reason}")

    def _offer_plan(self) -> None:
        """Ask the person whether the plan that waits is to be built; a yes begins it."""
        question, accepted = cycles.acceptance(self._core, self._state, lambda: self.activity)

        def follow(answer: QuestionAnswered) -> list[Event] | None:
            events = accepted(answer)
            order = Order("build", self._state.runs.active)
            begun = InputReceived(submission=question.question, text="", surface=answer.surface, order=order)
            return None if events is None else [*events, begun]

        self._questions.follow(question, QuestionAbout.PLAN, follow)
        self._journal.post(question)
