"""One call for helpers: begins them, a few at a time, follows each to its end, and tells the parent's call of it.

Their questions go to the person through the parent's call, with the helper's name; what they spend is put on the
parent's record as they spend it; a dial that is tightened in the parent is tightened in each. However the call ends,
none of them runs on: a session that is closed in the middle is taken up by the next call that asks for the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, aclosing

from msgspec import UNSET, structs

from quintet.adapters.settings.rule_book import FileRuleBook
from quintet.app.services import Opening
from quintet.app.session_orders import NestedOrder, as_command
from quintet.domain.base.errors import QuintetError, ToolFailed
from quintet.domain.base.safe_text import brief
from quintet.domain.base.wording import first_line
from quintet.domain.dials import badge
from quintet.domain.dials.axes import MODEL_ORDER, Axes, AxesChange, ModelMode, Surface, WorkMode
from quintet.domain.dials.transitions import Scope, Transition
from quintet.domain.helpers.bounds import BUILDING, Bounds, held_axes, inherited, looser
from quintet.domain.input.slash_line import as_input
from quintet.domain.journal import protocol as p
from quintet.domain.permission.answers import NO
from quintet.domain.permission.gate import READ_ONLY_MODES
from quintet.domain.ports.ports import Workbench
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.messages import EndStatus, Usage
from quintet.domain.turn.tool_spec import CallChoice, CallQuestion, Consulted
from quintet.engine.session.session import Session
from quintet.features.helpers.claims import HelperClaims
from quintet.features.helpers.settings import HelperSettings
from quintet.features.helpers.values import (
    HelperAccount,
    HelperEnd,
    HelperSeat,
    HelperState,
    less,
)
from quintet.features.helpers.worktree import HelperTree

ROUTE = "helper"  # what a helper's requests are on record as, in its parent's journal
TASK = "-task"  # ends the id of the submission that a helper begins with, which is accepted once
RESUME = "/resume"
TIGHTENING = (p.DialsTurned, p.TransitionPending)  # events of the parent by which its dials may be tighter
AT_TOOL_END = frozenset({Scope.NOW, Scope.AFTER_CURRENT_TOOL})
LAST_EVENT = 1 << 62


class HelperCall:
    def __init__(
        self,
        opening: Opening,
        settings: HelperSettings,
        bench: Workbench,
        slots: asyncio.Semaphore,
        seats: Sequence[HelperSeat],
        entered: dict[str, p.AgentEntered],
        claims: HelperClaims,
        charged: dict[str, tuple[Usage, float]],
    ) -> None:
        """`charged` is what of former calls is on the parent's record already, by the helpers' sessions."""
        self._opening = opening
        self._settings = settings
        self._bench = bench
        self._slots = slots
        self._seats = seats
        self._entered = entered
        self._claims = claims
        self._charged = charged
        self._parent = opening.attach(Surface.RPC)
        self._book = FileRuleBook(opening.places.rules_file)
        self._sessions: dict[str, Session] = {}
        self._pending: list[Consulted] = []
        self._owed = asyncio.Event()
        self._over = False
        self._stopped = ""  # why no helper may go on: the money is spent
        self.accounts = {seat.session: HelperAccount(seat.name) for seat in seats}

    async def run(self) -> list[HelperEnd]:
        """Every helper to its end. Cancelling this ends them all, at once."""
        dials, spending = asyncio.create_task(self._pass_on_dials()), asyncio.create_task(self._report_spending())
        running = [asyncio.create_task(self._one(seat)) for seat in self._seats]
        try:
            ended = await asyncio.gather(*running)
            self._over = True
            self._owed.set()
            await spending
            return ended
        finally:
            beside = (*running, dials, spending)
            for task in beside:
                if not task.cancelling():  # else it is about to end, and closes what it opened
                    task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    @property
    def unreported(self) -> tuple[Consulted, ...]:
        return tuple(self._pending)

    # ── one helper

    async def _one(self, seat: HelperSeat) -> HelperEnd:
        account = self.accounts[seat.session]
        async with self._slots:
            if limit := self._limit_reached():
                return HelperEnd(EndStatus.LIMIT, reason=limit)
            try:
                end = await self._worked(seat)
            except QuintetError as error:
                end = HelperEnd(EndStatus.FAILED, reason=first_line(error.message))
        if (limit := self._limit_reached()) and end.status is EndStatus.INTERRUPTED:
            end = structs.replace(end, status=EndStatus.LIMIT, reason=limit)
        account.state, account.doing = HelperState.ENDED, str(end.status)
        self._tell(account)
        return end

    async def _worked(self, seat: HelperSeat) -> HelperEnd:
        tree = HelperTree(self._opening.places, seat.session) if seat.task.writes else None
        if tree:
            await asyncio.to_thread(tree.make, known=seat.begun)
        async with AsyncExitStack() as stack:
            stack.callback(self._claims.drop, seat.name)
            session = await stack.enter_async_context(self._opening.nest(self._order(seat, tree)))
            self._sessions[seat.session] = session
            stack.callback(self._sessions.pop, seat.session)
            await self._tighten(session)  # dials that were turned while it was opened
            end = await self._ended(seat, session)
        if tree and end.status is not EndStatus.INTERRUPTED:  # else it continues there
            kept = await asyncio.to_thread(tree.keep, f"{seat.name}: {first_line(seat.task.task)[:60]}")
            end = structs.replace(end, branch=kept)
        return end

    async def _ended(self, seat: HelperSeat, session: Session) -> HelperEnd:
        """Follow a helper to its end; one that has ended before is not run again."""
        self._charge(seat, session)
        if seat.begun:
            past = [recorded.event for recorded in session.past_events(0, LAST_EVENT)]
            last = next((event for event in reversed(past) if isinstance(event, p.TurnFinished)), None)
            if session.state.turns.interrupted:
                return await self._followed(seat, session, await session.say(RESUME))
            if last:
                return HelperEnd(last.status, last.answer, last.reason)
        said = p.Say(text=as_input(seat.task.task))
        return await self._followed(seat, session, await session.submit(said, id=f"{seat.session}{TASK}"), 0)

    async def _followed(
        self, seat: HelperSeat, session: Session, submission: str, after: int | None = None
    ) -> HelperEnd:
        account, asking = self.accounts[seat.session], set[asyncio.Task[None]]()
        followed = session.follow(submission, after=after)
        try:
            async for item in followed:
                if isinstance(item, p.Recorded):
                    self._charge(seat, session)
                    self._note(account, item.event)
                    if isinstance(item.event, p.QuestionAsked) and item.event.question in session.state.questions:
                        asking.add(asyncio.create_task(self._ask(seat, session, item.event)))
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        self._charge(seat, session)
        outcome = followed.outcome
        return HelperEnd(outcome.status, outcome.answer, outcome.reason)

    def _note(self, account: HelperAccount, event: p.Event) -> None:
        match event:
            case p.ModelRequested(attempt=1):
                account.requests += 1
                if account.state is HelperState.WORKING:
                    return  # its calls tell the rest
                account.state, account.doing = HelperState.WORKING, ""
            case p.ToolStarted(tool=tool, arguments=arguments):
                account.calls += 1
                account.state, account.doing = HelperState.WORKING, f"{tool} {brief(arguments)}"
            case _:
                return
        self._tell(account)

    def _tell(self, account: HelperAccount) -> None:
        self._bench.progress(f"{account.line()}\n")

    async def _ask(self, seat: HelperSeat, session: Session, asked: p.QuestionAsked) -> None:
        """Ask the person, through the parent's call. An answer counts once: helpers make no rules and turn no dials."""
        account = self.accounts[seat.session]
        account.state, account.doing = HelperState.ASKING, asked.text
        self._tell(account)
        once = [one for one in asked.choices if one.turns is UNSET]
        question = CallQuestion(
            text=f"{seat.name}: {asked.text}",
            choices=tuple(CallChoice(one.key, one.label, one.takes_text is True) for one in once),
            detail=asked.detail,
            approves=asked.kind == "approve",
        )
        reply = await self._bench.ask(question)
        answer = p.Answer(question=asked.question, choice=reply.choice or NO, note=reply.note or reply.refused)
        await session.submit(answer)

    # ── bounds

    def bounds(self) -> Bounds:
        """What the parent may do now, and so what a helper may do at most."""
        opening, state = self._opening, self._parent.state
        routing, models = opening.settings.routing, opening.settings.models
        reach = MODEL_ORDER[: MODEL_ORDER.index(state.axes.model_mode) + 1]
        names = frozenset(routing.model(use, state.dials.model) for use in reach)
        own = Bounds(
            axes=_with_pending(state.axes, state.dials.pending),
            read_only=state.read_only,
            tools=state.call_context.allowed,
            rules=(*state.rules, *self._book.rules()),
            roots=(opening.places.root,),
            providers=frozenset(models[name].base_url for name in names if name in models),
            models=names,
            skills=state.skills,
            known=state.calls.addresses,
        )
        above = opening.bounds()
        return inherited(above, own) if above else own

    def _bounds_of(self, tree: HelperTree | None) -> Bounds:
        """The same for one of its helpers. A worktree stands for the project: the project's rules hold there."""
        bounds, root = self.bounds(), self._opening.places.root
        network = bounds.network and self._settings.network
        if tree is None:
            return structs.replace(bounds, network=network)
        there = tree.places.root
        rules = tuple(structs.replace(rule, project=there) if rule.project == root else rule for rule in bounds.rules)
        return structs.replace(bounds, network=network, rules=rules, roots=(there,))

    def _order(self, seat: HelperSeat, tree: HelperTree | None) -> NestedOrder:
        bounds, state = self._bounds_of(tree), self._parent.state
        read_only = "" if tree else f"helper {seat.name} only reads"
        wanted = structs.replace(
            bounds,
            axes=structs.replace(
                bounds.axes,
                work_mode=_wanted_mode(bounds.axes.work_mode, bool(tree)),
                model_mode=ModelMode(seat.task.model_mode or bounds.axes.model_mode),
                surface=Surface.RPC,
            ),
            read_only=read_only,
        )
        child = inherited(bounds, wanted)
        if more := looser(bounds, child):
            raise ToolFailed(f"helper {seat.name} would have more than this session: {', '.join(more)}")
        above = state.helper.chain if state.helper else (f"{state.session}  {badge.full(state.axes)}",)
        assigned = p.HelperAssigned(
            helper=seat.name,
            role=seat.task.role,
            task=seat.task.task,
            parent=state.session,
            call=self._bench.call.id,
            depth=(state.helper.depth if state.helper else 0) + 1,
            read_only=child.read_only,
            branch=tree.branch if tree else "",
            chain=(*above, f"{seat.session}  {badge.full(child.axes)}  {seat.name}"),
        )
        opening: list[p.Event] = [assigned]
        if not seat.begun:
            opening.append(self._entered[seat.task.role])
            if state.dials.model:
                opening.append(p.ModelChosen(name=state.dials.model))
        return NestedOrder(
            session=seat.session,
            begun=seat.begun,
            places=tree.places if tree else self._opening.places,
            settings=self._limited(seat),
            axes=child.axes,
            bounds=lambda: self._bounds_of(tree),
            opening=tuple(opening),
            widen=self._claims.widen(seat.name, tree.places.root) if tree else None,
        )

    def _limited(self, seat: HelperSeat) -> Settings:
        settings, own = self._opening.settings, self._settings
        limits, spent = settings.limits, self._parent.state.spent.cost
        before = self._charged.get(seat.session, (Usage(), 0.0))[1]
        left = limits.max_cost and max(limits.max_cost - spent, 1e-9) + before
        most = min(filter(None, (left, own.max_cost)), default=0.0)
        turns = min(filter(None, (limits.max_turns, own.max_turns)))
        return structs.replace(settings, limits=structs.replace(limits, max_cost=most, max_turns=turns))

    async def _pass_on_dials(self) -> None:
        async with aclosing(self._parent.events(self._parent.since)) as events:
            async for item in events:
                if isinstance(item, p.Recorded) and isinstance(item.event, TIGHTENING):
                    for session in list(self._sessions.values()):
                        await self._tighten(session)

    async def _tighten(self, session: Session) -> None:
        """Turn the helper's dials down to its parent's. Its calls are held to those at once; this tells its model."""
        state = session.state
        wanted = held_axes(self.bounds().axes, state.axes, bool(state.read_only))
        if change := _change(state.axes, wanted):
            await session.say(as_command(change))

    # ── what they spend

    def _charge(self, seat: HelperSeat, session: Session) -> None:
        usage, cost = session.state.spent.usage, session.state.spent.cost
        before, paid = self._charged.get(seat.session, (Usage(), 0.0))
        account = self.accounts[seat.session]
        account.usage, account.cost = usage, cost
        if (usage, cost) != (before, paid):
            model = session.state.conversation.model or self._opening.settings.routing.model(
                session.state.axes.model_mode, session.state.dials.model
            )
            self._pending.append(Consulted(ROUTE, model, less(usage, before), cost - paid, seat.session))
            self._charged[seat.session] = usage, cost
            self._owed.set()

    def _limit_reached(self) -> str:
        return self._stopped

    async def _report_spending(self) -> None:
        while not self._over or self._pending:
            await self._owed.wait()
            self._owed.clear()
            owed, self._pending = tuple(self._pending), []
            if owed:
                reply = await self._bench.ask(CallQuestion(spends=True, consulted=owed))
                if reply.refused and not self._stopped:
                    self._stopped = reply.refused
                    for session in list(self._sessions.values()):
                        await session.submit(p.Interrupt())


def _wanted_mode(parent: WorkMode, writes: bool) -> WorkMode:
    """A helper that reads researches; one that writes does what its parent does."""
    return WorkMode.RESEARCH if not writes and parent in BUILDING | READ_ONLY_MODES else parent


def _with_pending(axes: Axes, pending: Iterable[Transition]) -> Axes:
    """The dials with what is to turn when the running tool ends: for helpers that is their own, not this call."""
    for one in pending:
        if one.scope in AT_TOOL_END:
            axes = held_axes(one.change.applied_to(axes), axes, reads_only=False)
    return axes


def _change(before: Axes, after: Axes) -> AxesChange:
    names = AxesChange.__struct_fields__
    return AxesChange(**{name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)})
