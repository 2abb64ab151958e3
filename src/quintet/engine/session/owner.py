"""The session's owner: the one process that consumes its inbox, runs its turns and writes its journal.

Two loops: the inbox loop takes submissions as they come, so commands never queue behind the model; one turn task at a
time does the work. Ownership is a lease with a heartbeat, checked by every write.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from msgspec import structs

from quintet.domain.base.errors import LeaseLost, QuintetError, RunFailed, UsageError
from quintet.domain.dials.axes import AxesChange, ModelMode
from quintet.domain.dials.transitions import Activity, Scope
from quintet.domain.input import slash_line as command_line
from quintet.domain.journal.input_outcome import NOT_BEGUN
from quintet.domain.journal.protocol import (
    Answer,
    CommandRan,
    Event,
    InputReceived,
    Interrupt,
    Noticed,
    QuestionAnswered,
    QuestionAsked,
    Say,
    SessionTaken,
    Submitted,
)
from quintet.domain.journal.state import SessionState
from quintet.domain.ports.ports import Lease, Unreadable
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.reports import Order
from quintet.engine.agents import runs
from quintet.engine.checkpoints.keeper import Keeper
from quintet.engine.commands import cycle as cycles
from quintet.engine.commands import table as commands
from quintet.engine.commands.agents import entering
from quintet.engine.cycle.context import Workshop
from quintet.engine.session import dials, questions
from quintet.engine.session.command_context import Begins, CommandOutcome
from quintet.engine.session.core import Core
from quintet.engine.session.crash_recovery import leftovers
from quintet.engine.session.feed import Feed
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.journal import Journal
from quintet.engine.session.leases import HEARTBEAT_SECONDS, LEASE_SECONDS
from quintet.engine.session.open_session import fork_session
from quintet.engine.turn.shell_warden import ShellWarden
from quintet.engine.turn.turn_runner import Turns, TurnWork

POLL_SECONDS = 0.1  # how soon another process's submission is noticed


class Owner:
    """Also the desk that slash commands work at."""

    def __init__(self, core: Core, state: SessionState, lease: Lease) -> None:
        self.core = core
        self.surface = state.axes.surface
        self.feed = Feed()
        self.journal = Journal(core.store, core.clock, state, lease, self.feed, core.ownership.durable, core.redactor)
        self.journal.heed = ShellWarden(core, self.journal).heed
        self._lease = lease
        self._questions = questions.Questions(self.journal)
        self._hooks = Hooks(core, self.journal)
        self._keeper = Keeper(core, self.journal)
        self._go = asyncio.Event()
        self._go.set()
        self._wake = asyncio.Event()
        self._skip = asyncio.Event()
        self._skip.set()
        self._turns = Turns(core, self.journal, self._questions, self._keeper, self._go)
        self._turn_task: asyncio.Task[None] | None = None
        self._closing = False
        # What follows from an answer; None: nothing, and what was to begin with it does not.
        self._follow_ups: dict[str, Callable[[QuestionAnswered], list[Event] | None]] = {}
        self._passed_over: set[str] = set()  # submissions that cannot be read, once said
        self._tasks: list[asyncio.Task[None]] = []
        self.failed: BaseException | None = None

    # ── life

    async def start(self, reason: str = "", opening: Sequence[Event] = (), agent: str = "") -> None:
        """Take up the session: settle what a former owner left open, enter the agent, serve the inbox, open."""
        if reason:
            taken = SessionTaken(owner=self._lease.owner, pid=self._lease.pid, reason=reason)
            await self.journal.append(*leftovers(self.core, self.state), taken)
            if strayed := runs.strayed(self.core, self.state):
                await self.journal.append(*strayed)
        if agent:
            await self.journal.append(*entering(self.core, self.state, agent, self.state.axes.surface))
        self._tasks = [asyncio.create_task(self._heartbeat())]
        await self._hooks.run(HookPlace.SESSION_START, source=reason or "new")
        self._tasks.append(asyncio.create_task(self._serve()))
        self._start_next()
        if opening:
            await self.journal.append(*opening)

    async def close(self) -> None:
        await self.core.ownership.on_close()
        self._closing = True
        if turn := self._cut_short(EndStatus.INTERRUPTED):
            await asyncio.gather(turn, return_exceptions=True)
        await self._keeper.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(QuintetError):
            if self.failed is None:
                await self._take_all()  # what came last is on record, and waits for the next owner
            await self.core.store.release(self._lease)
        self.feed.close()

    def wake(self) -> None:
        self._wake.set()

    async def _serve(self) -> None:
        seen = -1
        try:
            while not self._closing:
                version = self.core.store.data_version()
                if self._wake.is_set() or version != seen:
                    self._wake.clear()
                    seen = version
                    await self._take_all()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._wake.wait()
        except Exception as error:
            if not isinstance(error, QuintetError):
                self.core.log.crash(error)
            self._give_up(error)

    async def _heartbeat(self) -> None:
        try:
            while True:
                await asyncio.sleep(HEARTBEAT_SECONDS)
                now = self.core.clock.epoch()
                lease = structs.replace(self._lease, until=now + LEASE_SECONDS)
                if not await self.core.store.take_lease(lease, now, False):
                    raise LeaseLost()
        except QuintetError as error:
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        """The store fails or the session is another's: stop, and let readers see why."""
        if self.failed is None:
            self.failed = error
            self.journal.broken = self.journal.broken or error
            if self._turn_task:
                self._turn_task.cancel()
            self.feed.close()

    # ── submissions

    async def _take_all(self) -> None:
        await self.core.ownership.settled()
        for submitted in self.core.store.inbox(self.state.session):
            if not isinstance(submitted, Unreadable):
                await self._take(submitted)
            elif submitted.id not in self._passed_over:
                self._passed_over.add(submitted.id)
                text = f"the submission {submitted.id} cannot be read and is passed over: {submitted.why}"
                await self.journal.append(Noticed(level="error", code="SUBMISSION_UNREADABLE", text=text))

    async def _take(self, submitted: Submitted) -> None:
        match submitted.body:
            case Say(text=text):
                if line := commands.command_in(self.state, text, submitted.surface, self.core.commands.features):
                    await self._command(submitted, line)
                else:
                    event = InputReceived(submission=submitted.id, text=text, surface=submitted.surface)
                    await self.journal.append(event, consumed=submitted.id)
                    self._start_next()
            case Answer() as answer:
                await self._answer(submitted, answer)
            case Interrupt():
                running = self.state.busy
                said = "interrupted" if running else "nothing is running"
                await self._ran(submitted, "interrupt", said, ok=running)
                self._cut_short(EndStatus.INTERRUPTED)

    async def _command(self, submitted: Submitted, text: str) -> None:
        try:
            self.surface, agent = submitted.surface, self.state.runs.agent
            others = [item.trigger for item in agent.menu] if agent else ()
            command, line = commands.parse(text, others, self.core.commands.features)
            made = command.handler(self, line)
            outcome = made if isinstance(made, CommandOutcome) else await made
        except (UsageError, RunFailed) as error:
            await self._ran(submitted, text, str(error), ok=False, code=error.code)
            return
        ran = CommandRan(submission=submitted.id, line=text, text=outcome.text, data=outcome.data)
        asked = [event for event in outcome.events if isinstance(event, QuestionAsked)]
        said = [event for event in outcome.events if not isinstance(event, QuestionAsked)]
        begun = self._begun(submitted, outcome, asked)
        await self.journal.append(*said, ran, *asked, *begun, consumed=submitted.id)
        self._start_next()
        if outcome.then:
            await outcome.then()

    def _begun(self, submitted: Submitted, outcome: CommandOutcome, asked: list[QuestionAsked]) -> list[Event]:
        """The input that a command begins a turn with; where the command asks something, it comes with the answer."""
        if outcome.begins is None:
            return []
        text, order = outcome.begins.text, outcome.begins.order
        begun = InputReceived(submission=submitted.id, text=text, surface=submitted.surface, order=order)
        if not asked:
            return [begun]
        question = asked[-1].question
        follow = self._follow_ups[question]

        def begin(answer: QuestionAnswered) -> list[Event] | None:
            events = follow(answer)
            return None if events is None else [*events, begun]

        self._follow_ups[question] = begin
        return []

    async def _answer(self, submitted: Submitted, answer: Answer) -> None:
        judged = questions.judge(self.state, answer, submitted.surface)
        if isinstance(judged, str):
            await self._ran(submitted, "answer", judged, ok=False, code="USAGE")
            return
        assert isinstance(judged, QuestionAnswered)
        follow = self._follow_ups.pop(judged.question, None)
        await self.journal.append(judged, *((follow(judged) or ()) if follow else ()), consumed=submitted.id)
        self._questions.answered(judged)
        self._start_next()

    async def _ran(self, submitted: Submitted, line: str, text: str, *, ok: bool, code: str = "") -> None:
        ran = CommandRan(submission=submitted.id, line=line, text=text, ok=ok, code=code)
        await self.journal.append(ran, consumed=submitted.id)

    # ── turns

    def _start_next(self) -> None:
        if self._turn_task is None and self.state.turns.waiting and not self._closing:
            self._begin(self.state.turns.waiting[0])

    def _begin(self, first: InputReceived) -> None:
        self._turns.ending = EndStatus.INTERRUPTED
        self._go.set()
        self._turn_task = asyncio.create_task(self._run_turn(first))
        self._turn_task.add_done_callback(self._turn_done)

    async def _run_turn(self, first: InputReceived) -> None:
        """What an input begins: an agent's command, a cycle, or a turn."""
        submission, text, surface, order = first.submission, first.text, first.surface, first.order
        own = command_line.own_call(text)
        begins, opening = Begins(text, "" if submission or order else self.state.runs.active, own), list[Event]()
        if self.state.runs.agent and submission and not own and order is None:
            from quintet.engine.agents.dispatch import dispatch

            routed = dispatch(self.core, self.state, text, surface)
            if routed.begins is None:
                await self.journal.append(*routed.events, routed.answer(submission, text))
                return
            begins, opening = routed.begins, routed.events
        text, own = begins.text, begins.own
        if text and not own and not await self._may_begin(submission, text):
            return
        if cycles.begins_one(self.core, self.state, text if submission and not own else "", order):
            from quintet.engine.cycle.cycle import CycleRun

            await CycleRun(self._workshop(), self.offer_plan).run(first)
            return
        await self._turns.run(TurnWork(text, surface, submission, order, begins.run, own, tuple(opening)))

    async def _may_begin(self, submission: str, text: str) -> bool:
        """Whether the user's hooks let the turn begin; if not, that is the answer to its input."""
        try:
            said = await self._hooks.run(HookPlace.USER_PROMPT_SUBMIT, prompt=text)
            if not said.blocked:
                return True
            why = said.reason
        except asyncio.CancelledError:
            if self._closing or self.failed:
                raise  # the input waits for the next owner
            why = "interrupted"
        text = f"the turn was not begun: {why}"
        await self.journal.append(CommandRan(submission=submission, line="", text=text, ok=False, code=NOT_BEGUN))
        return False

    def _turn_done(self, task: asyncio.Task[None]) -> None:
        self._turn_task = None
        if not task.cancelled() and (error := task.exception()):
            self._give_up(error)
        elif self.failed is None:
            self._start_next()

    def _cut_short(self, ending: EndStatus) -> asyncio.Task[None] | None:
        """Cancel the turn; it ends on its own time, and the inbox does not wait for it."""
        self._turns.ending = ending
        if self._turn_task:
            self._turn_task.cancel()
        return self._turn_task

    # ── the desk

    @property
    def state(self) -> SessionState:
        return self.journal.state

    @property
    def busy(self) -> bool:
        return self._turn_task is not None or self.state.turns.open is not None

    @property
    def activity(self) -> Activity:
        turn, cycle = self._turns.current, self.state.cycle
        unit = self.state.turns.open is not None or bool(cycle and cycle.at_work and cycle.unit.task)
        return Activity(tool=bool(turn and turn.tool_active), unit=unit)

    def let_go(self) -> None:
        self._go.set()

    def hold(self) -> None:
        self._go.clear()

    async def stop(self) -> None:
        self._cut_short(EndStatus.CANCELLED)

    async def continue_turn(self) -> None:
        if self._turn_task is None and not self._closing:
            order, axes = self.state.turns.order, self.state.axes
            order = order if order and order.kind == axes.work_mode else None
            self._begin(InputReceived(submission="", text="", surface=axes.surface, order=order))

    async def abort_tool(self) -> None:
        if self.core.settings.dials.abort_active_tool and self._turns.current:
            self._turns.current.abort_tools()

    async def fork(self, at: str = "") -> str:
        return await fork_session(self.core, self.state.session, at)

    async def settled(self) -> None:
        await self._keeper.settle()

    async def note(self, event: Event) -> None:
        await self.journal.append(event)

    def go_deep_if_told(self, question: QuestionAsked) -> None:
        def follow(answer: QuestionAnswered) -> list[Event]:
            if answer.choice != "d":
                return []
            wanted = dials.new(self.core.ids, AxesChange(model_mode=ModelMode.DEEP), Scope.NOW, "chosen for review")
            return [dials.turn(self.state, wanted, self.activity)]

        self.follow(question, follow)

    def follow(self, question: QuestionAsked, then: Callable[[QuestionAnswered], list[Event] | None]) -> None:
        self._follow_ups[question.question] = then

    def offer_plan(self) -> None:
        """Ask the person whether the plan that waits is to be built; a yes begins it."""
        question, accepted = cycles.acceptance(self)

        def follow(answer: QuestionAnswered) -> list[Event] | None:
            events = accepted(answer)
            order = Order("build", self.state.runs.active)
            begun = InputReceived(submission=question.question, text="", surface=answer.surface, order=order)
            return None if events is None else [*events, begun]

        self.follow(question, follow)
        self.journal.post(question)

    def skip_wait(self) -> bool:
        waits = not self._skip.is_set()
        self._skip.set()
        return waits

    def _workshop(self) -> Workshop:
        owner = f"{self.state.session}/{self._lease.owner}"
        shared = (self._turns, self._questions, self._keeper, self._go, self._skip)
        return Workshop(self.core, self.journal, *shared, owner)
