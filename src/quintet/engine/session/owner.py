"""The session's owner: the one process that consumes its inbox, runs its turns and writes its journal.

The inbox loop takes submissions as they come, so commands never queue behind the model; `InputRunner` does the work of
inputs beside it. Ownership is a lease with a heartbeat, checked by every write.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from typing import Any

from msgspec import UNSET, UnsetType, structs

from quintet.domain.base.errors import LeaseLost, QuintetError, RunFailed, UsageError
from quintet.domain.dials.transitions import Actor, Scope
from quintet.domain.journal.input_outcome import INTERRUPTED, NEXT_TURN, OWN_TURN
from quintet.domain.journal.protocol import (
    Answer,
    CommandRan,
    DialsTurned,
    Event,
    InputReceived,
    Interrupt,
    Noticed,
    QuestionAnswered,
    QuestionAsked,
    Say,
    SessionTaken,
    Submission,
    Submitted,
    TransitionPending,
)
from quintet.domain.journal.state import SessionState
from quintet.domain.permission import ceilings, remote_limits
from quintet.domain.ports.ports import Lease, Unreadable
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn.messages import EndStatus
from quintet.engine.agents import runs
from quintet.engine.checkpoints.keeper import CheckpointKeeper
from quintet.engine.commands import queued
from quintet.engine.commands import table as commands
from quintet.engine.commands.agents import enter_agent
from quintet.engine.commands.dials import LateReview
from quintet.engine.session import dials, questions
from quintet.engine.session.command_context import BeginWork, Below, CommandContext, CommandOutcome, TurnEffect
from quintet.engine.session.core import Core
from quintet.engine.session.crash_recovery import close_leftovers
from quintet.engine.session.feed import Feed
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.input_runner import InputRunner
from quintet.engine.session.journal import Journal
from quintet.engine.session.leases import HEARTBEAT_SECONDS, LEASE_SECONDS
from quintet.engine.turn.context_use import context_use
from quintet.engine.turn.gatekeeper import ShellRevoker

STOP_LINE = "/stop"
POLL_SECONDS = 0.1  # how soon another process's submission is noticed


class Owner:
    def __init__(self, core: Core, state: SessionState, lease: Lease) -> None:
        self.core = core
        self.feed = Feed()
        self.journal = Journal(core.store, core.clock, state, lease, self.feed, core.ownership.durable, core.redactor)
        self._revoker = ShellRevoker(core, self.journal)
        self._lease = lease
        self._keeper = CheckpointKeeper(core, self.journal)
        self._questions = questions.Questions(self.journal)
        claims_of = f"{state.session}/{lease.owner}"
        self._inputs = InputRunner(core, self.journal, self._questions, self._keeper, claims_of, self._give_up)
        self._late_review = LateReview(core, self.journal, self._questions, lambda: self._inputs.activity)
        self._ceiling = state.axes if core.cycle.integration or core.ownership.held else None  # of a worker's session
        self.journal.on_event = self._on_event
        self._context = CommandContext(
            core, self.journal, self._questions, self._keeper, self._inputs, state.axes.surface
        )
        self._wake = asyncio.Event()
        self._closing = False
        self._passed_over: set[str] = set()  # submissions that cannot be read, once said
        self._tasks: list[asyncio.Task[None]] = []
        self._letting_go: asyncio.Task[None] | None = None
        self.failed: BaseException | None = None

    @property
    def state(self) -> SessionState:
        return self.journal.state

    def context_share(self) -> float:
        return context_use(self.core, self.state, self._context.next_request()).share

    @property
    def at_work(self) -> bool:
        """Whether something runs, or is to begin next."""
        return self._inputs.busy or self.state.turns.following is not None

    @property
    def needs_person(self) -> bool:
        """Whether what runs waits for somebody, to answer or to let it go on."""
        return bool(self.state.questions) or self.state.turns.paused

    def _on_event(self, event: Event) -> None:
        self._revoker.on_event(event)
        self._late_review.on_event(event)

    # ── life

    async def start(self, reason: str = "", opening: Sequence[Event] = (), agent: str = "") -> None:
        """Take up the session: settle what a former owner left open, enter the agent, serve the inbox, open."""
        if reason:
            taken = SessionTaken(owner=self._lease.owner, pid=self._lease.pid, reason=reason)
            await self.journal.append(*close_leftovers(self.core, self.state), taken)
            if left := runs.leave_taken(self.core, self.state):
                await self.journal.append(*left)
        if agent:
            await self.journal.append(*enter_agent(self.core, self.state, agent, self.state.axes.surface))
        self._tasks = [asyncio.create_task(self._heartbeat())]
        await Hooks(self.core, self.journal).run(HookPlace.SESSION_START, source=reason or "new")
        self._tasks.append(asyncio.create_task(self._serve()))
        self._inputs.start_next()
        if opening:
            await self.journal.append(*opening)

    async def close(self) -> None:
        await self.core.ownership.on_close()
        self._closing = True
        await self._inputs.close()
        await self._keeper.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.journal.written()  # until then the inbox still has what is consumed with it
        with contextlib.suppress(QuintetError):
            if self.failed is None:
                await self._take_all()  # what came last is on record, and waits for the next owner
        with contextlib.suppress(QuintetError):  # also where that failed: this process may live on without the session
            await (self._letting_go or self._let_go())
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
                    if not self.core.store.holds(self._lease):
                        raise LeaseLost()
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
                until = self.core.clock.uptime() + LEASE_SECONDS
                if not await self.core.store.renew_lease(structs.replace(self._lease, until=until)):
                    raise LeaseLost()
        except QuintetError as error:
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        """The store fails or the session is another's: stop what runs, let go, and let readers see why."""
        if self.failed is None:
            self.failed = error
            self.journal.broken = self.journal.broken or error
            self._inputs.give_up()
            self.feed.close()
            self._letting_go = asyncio.ensure_future(self._let_go())

    async def _let_go(self) -> None:
        """A process that lives on keeps nobody else from the session, and runs nothing in it."""
        with contextlib.suppress(QuintetError):
            if isinstance(self.failed, LeaseLost):
                toolbox = self.core.turn.toolbox
                for shell in toolbox.outside.shells():
                    await toolbox.end_shell(shell.name, self.failed.message)
            await self.core.store.release(self._lease)

    # ── submissions

    async def _take_all(self) -> None:
        await self.core.ownership.settled()
        for submitted in self.core.store.inbox(self.state.session):
            if not isinstance(submitted, Unreadable):
                await self._take(submitted)
            elif submitted.id not in self._passed_over:
                self._passed_over.add(submitted.id)
                text = f"the submission {submitted.id} cannot be read and is ignored: {submitted.why}"
                await self.journal.append(Noticed(level="error", code="SUBMISSION_UNREADABLE", text=text))

    async def _take(self, submitted: Submitted) -> None:
        submitted = ceilings.held(submitted, self._ceiling) if self._ceiling else submitted
        match submitted.body:
            case Say(text=text, quoted=quoted):
                if line := commands.command_in(self.state, text, submitted.surface, self.core.commands.features):
                    await self._command(submitted, line)
                else:
                    event = InputReceived(
                        submission=submitted.id,
                        text=text,
                        surface=submitted.surface,
                        quoted=quoted or UNSET,
                        actor=_elsewhere(submitted),
                    )
                    await self.journal.append(event, consumed=submitted.id)
                    self._inputs.start_next()
            case Answer() as answer:
                await self._answer(submitted, answer)
            case Interrupt():
                running = self.state.busy or self._context.interrupted
                said = "interrupted" if running else "nothing is running"
                await self._ran(submitted, "interrupt", said, *queued.held(self.state, "interrupted"), ok=running)
                self._inputs.cut_short(EndStatus.INTERRUPTED)
                self._context.interrupted = False

    async def _command(self, submitted: Submitted, text: str) -> None:
        context, agent = self._context, self.state.runs.agent
        try:
            context.surface = submitted.surface
            others = [item.trigger for item in agent.menu] if agent else ()
            command, line = commands.parse(text, others, self.core.commands.features)
            _allow(remote_limits.command_refused(line, submitted.highest))
            _allow(ceilings.not_taken(line) if self._ceiling else "")
            made = command.handler(context, line)
            outcome = made if isinstance(made, CommandOutcome) else await self._stoppable(made)
            _allow(ceilings.raising(outcome.events, self._ceiling) if self._ceiling else "")
            if command.below is Below.NEXT and line.details.strip():
                outcome.begins = BeginWork(line.details.strip())
            _allow(remote_limits.turning_refused(outcome.events, submitted.highest))
        except (UsageError, RunFailed) as error:
            await self._ran(submitted, text, str(error), ok=False, code=error.code)
            return
        context.interrupted = outcome.interrupted
        if TurnEffect.HOLD in outcome.effects:
            self._inputs.apply(TurnEffect.HOLD)
        asked = [event for event in outcome.events if isinstance(event, QuestionAsked)]
        said = [_signed(event, submitted) for event in outcome.events if not isinstance(event, QuestionAsked)]
        actor = _elsewhere(submitted)
        ran = CommandRan(
            submission=submitted.id,
            line=text,
            text=outcome.text,
            ok=not outcome.interrupted,
            code=INTERRUPTED if outcome.interrupted else "",
            data=_data(outcome),
            actor=actor,
        )
        begun = self._begun(submitted, outcome, asked)
        await self.journal.append(*said, ran, *asked, *begun, consumed=submitted.id)
        if TurnEffect.CONTINUE in outcome.effects:  # before what waits behind it
            self._inputs.apply(TurnEffect.CONTINUE)
        self._inputs.start_next()
        for effect in outcome.effects:
            if effect not in (TurnEffect.HOLD, TurnEffect.CONTINUE):
                self._inputs.apply(effect)

    async def _stoppable(self, work: Awaitable[CommandOutcome]) -> CommandOutcome:
        """The outcome of a command that takes its time: whoever interrupts meanwhile, in any process, stops it."""
        watch = asyncio.ensure_future(self._watch_for_stop())
        try:
            return await work
        finally:
            watch.cancel()
            self.core.ownership.stop_command(False)

    async def _watch_for_stop(self) -> None:
        store, session, seen = self.core.store, self.state.session, -1
        while True:
            version = store.data_version()
            if self._wake.is_set() or version != seen:
                seen = version
                if any(isinstance(one, Submitted) and _stops(one.body) for one in store.waiting(session)):
                    self.core.ownership.stop_command(True)
                    return
            await asyncio.sleep(POLL_SECONDS)

    def _begun(self, submitted: Submitted, outcome: CommandOutcome, asked: list[QuestionAsked]) -> list[Event]:
        """The input that a command begins a turn with; where the command asks something, it comes with the answer."""
        if outcome.begins is None:
            return []
        text, order = outcome.begins.text, outcome.begins.order
        quoted, skill = outcome.begins.quoted or UNSET, outcome.begins.skill or UNSET
        begun = InputReceived(
            submission=submitted.id,
            text=text,
            surface=submitted.surface,
            order=order,
            quoted=quoted,
            skill=skill,
            actor=_elsewhere(submitted),
        )
        if not asked:
            return [begun]
        self._questions.begin_with(asked[-1], begun)
        return []

    async def _answer(self, submitted: Submitted, answer: Answer) -> None:
        judged = questions.judge(self.state, answer, submitted)
        if not isinstance(judged, str):
            events = [*self._turned(judged), *self._questions.following(judged)]
            judged = remote_limits.turning_refused(events, submitted.highest) or judged
        if isinstance(judged, str):
            await self._ran(submitted, "answer", judged, ok=False, code="USAGE")
            return
        await self._questions.answered(judged, submitted.id, [_signed(event, submitted) for event in events])
        self._inputs.start_next()

    def _turned(self, answer: QuestionAnswered) -> list[Event]:
        """The dials that the person turns by an answer which says so."""
        asked = self.state.questions[answer.question]
        taken = next((choice for choice in asked.choices if choice.key == answer.choice), None)
        if taken is None or taken.turns is UNSET:
            return []
        reason = f"answered {asked.question}: {taken.label}"
        wanted = dials.new(self.core.ids, taken.turns, Scope.NOW, reason)
        return [dials.turn(self.state, wanted, self._inputs.activity)]

    async def _ran(self, submitted: Submitted, line: str, text: str, *events: Event, ok: bool, code: str = "") -> None:
        actor = _elsewhere(submitted)
        ran = CommandRan(submission=submitted.id, line=line, text=text, ok=ok, code=code, actor=actor)
        await self.journal.append(ran, *events, consumed=submitted.id)


def _stops(body: Submission) -> bool:
    return isinstance(body, Interrupt) or (isinstance(body, Say) and body.text.strip() == STOP_LINE)


def _elsewhere(submitted: Submitted) -> str | UnsetType:
    """Who submitted it, where that is not the user at a surface."""
    return UNSET if submitted.actor == Actor.USER else submitted.actor


def _signed(event: Event, submitted: Submitted) -> Event:
    """An event with whoever turned the dial; what a rule turned stays the rule's."""
    if isinstance(event, DialsTurned | TransitionPending) and event.actor == Actor.USER:
        return structs.replace(event, actor=submitted.actor)
    return event


def _allow(refusal: str) -> None:
    if refusal:
        raise UsageError(refusal)


def _data(outcome: CommandOutcome) -> dict[str, Any]:
    """What a command tells surfaces, with the turn that follows from it."""
    if outcome.begins:
        return {**outcome.data, "turn": OWN_TURN}
    return {"turn": NEXT_TURN, **outcome.data} if TurnEffect.CONTINUE in outcome.effects else outcome.data
