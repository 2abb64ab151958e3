"""Carries out the calls of a turn: through the gate, one after the other, or together where all of them only read.

A call's `ToolStarted` is durable before the call has any effect; a call that started and did not finish is never run
again. Results are journalled in the order of the calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from quintet.domain.agents import workflow_progress as progress
from quintet.domain.base.errors import ToolFailed
from quintet.domain.dials.axes import Surface
from quintet.domain.dials.transitions import Boundary
from quintet.domain.journal.conversation_state import OUTCOME_UNKNOWN
from quintet.domain.journal.protocol import (
    Event,
    FilesChanged,
    MenuMoved,
    ModelConsulted,
    Noticed,
    PhaseMoved,
    Progress,
    StepFinished,
    TodoMoved,
    ToolStarted,
    UserMessaged,
)
from quintet.domain.journal.reasons import EndCause
from quintet.domain.journal.state import SessionState
from quintet.domain.permission.effects import READING
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.rules import subject_of
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn import swe_phases
from quintet.domain.turn.corrections import Step, going_in_circles
from quintet.domain.turn.delivery import WHOLE_FILE_TOOLS, RanCall
from quintet.domain.turn.messages import ToolCall, Usage
from quintet.domain.turn.tool_spec import CallStatus, Consulted, Move, ToolResult
from quintet.engine.checkpoints.keeper import CheckpointKeeper
from quintet.engine.session import dials
from quintet.engine.session.core import Core
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import Questions
from quintet.engine.turn import own_line
from quintet.engine.turn.call_questions import CallQuestions
from quintet.engine.turn.gatekeeper import Gatekeeper, finished_call
from quintet.engine.turn.nested_pages import pages_told
from quintet.engine.turn.time_limit import LimitReached
from quintet.engine.turn.toolbox import Prepared

WAITING_TOOLS = frozenset({"wait", "bash_output"})  # asking these again is no circle


class Calls:
    """The calls of one turn: what ran, and whether one of them ended it."""

    def __init__(self, core: Core, journal: Journal, questions: Questions, keeper: CheckpointKeeper, turn: str) -> None:
        self._core = core
        self._journal = journal
        self._gatekeeper = Gatekeeper(core, journal, questions, self._cover)
        self._call_questions = CallQuestions(core, journal, questions)
        self._hooks = Hooks(core, journal)
        self._keeper = keeper
        self._turn = turn
        self._steps: list[Step] = []
        self.ran: list[RanCall] = []
        self.before: tuple[RanCall, ...] = ()  # what ran in the interrupted turn that this one goes on with
        self.changed: dict[str, None] = {}  # files
        self.usage = Usage()  # of the models that calls asked
        self.cost = 0.0
        self._ending: ToolResult | None = None  # of the call that ended the turn
        self.active = False
        self.tasks: list[asyncio.Task[ToolResult]] = []

    async def carry_out(self, calls: list[ToolCall]) -> None:
        """Run the calls of one step, as far as they may run."""
        admitted = await self._gatekeeper.admit_step(calls)
        while admitted := await self._gatekeeper.admit_edits(admitted):
            # In SWE phases each call spends from a budget, so each has to be over before the next is judged.
            # A hook takes its time, and what was admitted before it must not wait for it.
            hooked = bool(self._hooks.at(HookPlace.PRE_TOOL_USE))
            alone = len(admitted) == 1 or self._journal.state.work.swe is not None or hooked
            together = 1 if alone else max(self._readers(admitted), 1)
            batch, admitted = admitted[:together], admitted[together:]
            await self._run(batch)
            if self._ending:
                return

    def _readers(self, calls: list[ToolCall]) -> int:
        """How many calls from the first on only read, and need no question."""
        count = 0
        for call in calls:
            prepared = self._gatekeeper.prepare(call)
            if not isinstance(prepared, Prepared) or prepared.decision.verdict is not Verdict.ALLOW:
                break
            effects = set(prepared.decision.effects)
            if not effects or effects - READING:
                break
            count += 1
        return count

    @property
    def failed_again(self) -> bool:
        """Whether the newest call failed just as the one before it."""
        return len(self._steps) > 1 and self._steps[-1] == self._steps[-2] and self.ran[-1].status is not CallStatus.OK

    @property
    def shown(self) -> tuple[RanCall, ...]:
        """What the work of the turn is judged by."""
        return (*self.before, *self.ran)

    def take_ending(self) -> ToolResult | None:
        """The result that ended the turn, if one did; a turn that goes on is no longer ended."""
        ending, self._ending = self._ending, None
        return ending

    async def _cover(self, call: str, paths: Sequence[str], named: Sequence[str] | None) -> str:
        return await self._keeper.cover(self._turn, call, paths, alone=named is None, named=named or ())

    async def own(self, call: ToolCall) -> bool:
        """A person's own call; returns whether it ran."""
        return await self._run([call], own=True)

    async def own_line(self, call: ToolCall, surface: Surface) -> bool:
        """A shell line that the user typed, with their rights; returns whether it ran."""
        self._check_limit(1)
        prepared = await own_line.admit(self._core, self._journal, call, surface)
        if prepared is None:
            return False
        if prepared.decision.verdict is Verdict.ASK:  # a hook wants it asked, and the gate asks
            return await self.own(call)
        return await self._carried([prepared], own=True, rights=surface)

    async def _run(self, calls: list[ToolCall], *, own: bool = False) -> bool:
        self._check_limit(len(calls))
        prepared = [p for call in calls if (p := await self._gatekeeper.admit(call, own=own)) is not None]
        if not prepared:
            return False
        return await self._carried(prepared, own=own)

    async def _carried(self, prepared: list[Prepared], *, own: bool, rights: Surface | UnsetType = UNSET) -> bool:
        self._check_cost(prepared)
        if refused := await self._not_free(prepared):
            for one in prepared:
                self._journal.post(finished_call(one.call, ToolResult(refused, CallStatus.ERROR)))
            return False
        try:
            watched, kept = await self._keeper.before(self._turn, prepared)
        except ToolFailed as error:  # what a call deletes was to be kept, and no longer could be
            for one in prepared:
                self._journal.post(finished_call(one.call, ToolResult(error.message, CallStatus.ERROR)))
            return False
        self.active = True  # before it is on record: who reads there that it runs must find no dial that turns at once
        try:
            await self._journal.append(
                *kept,
                *(
                    ToolStarted(
                        call=p.call.id, turn=self._turn, tool=p.call.name, arguments=p.call.arguments, rights=rights
                    )
                    for p in prepared
                ),
            )
        except BaseException:
            self.active = False
            raise
        began = self._core.clock.monotonic()
        try:
            self.tasks = [self._started(one) for one in prepared]
            results = await self._waited()
        except asyncio.CancelledError:
            lost = [
                ToolResult(one.spec.course.cut_short or OUTCOME_UNKNOWN, CallStatus.INTERRUPTED) for one in prepared
            ]
            self._journal.post(*self._core.turn.toolbox.put_right())
            self._journal.post(*(finished_call(one.call, result) for one, result in zip(prepared, lost, strict=True)))
            self._journal.post(*await self._keeper.after(watched))
            raise
        finally:
            self.active, self.tasks = False, []
        seconds = round(self._core.clock.monotonic() - began, 3)
        changed = await self._keeper.after(watched)
        if notices := self._core.turn.toolbox.put_right():
            self._journal.post(*notices)
        for one, result in zip(prepared, results, strict=True):
            self._finish(one, result, seconds, changed)
        if landed := dials.reach(self._journal.state, Boundary.TOOL_END):
            self._journal.post(*landed)
        for one, result in zip(prepared, results, strict=True):
            told = {"tool_name": one.spec.name, "tool_input": one.arguments}
            answered = {"status": result.status, "content": result.content}
            await self._hooks.run(HookPlace.POST_TOOL_USE, **told, tool_response=answered)
        if not own and (pages := pages_told(self._core, self._journal, self._turn, prepared, changed)):
            self._journal.post(*pages)
        if circle := going_in_circles(self._steps):
            raise LimitReached(f"{EndCause.LOOP}: {circle}")
        return True

    async def _not_free(self, prepared: list[Prepared]) -> str:
        """Why another task is in the way of what these calls write; empty if nothing is."""
        integration = self._core.cycle.integration
        widen = integration.widen if integration else self._core.turn.widen
        written = [path for one in prepared for path in one.touch.writes]
        if not (widen and written):
            return ""
        widened = await widen(written)
        if widened.waited:
            self._journal.post(Noticed(level="info", code="WAITED_FOR_CLAIM", text=f"waited for {widened.waited}"))
        return widened.refused

    def _started(self, prepared: Prepared) -> asyncio.Task[ToolResult]:
        running = self._core.turn.toolbox.run(
            prepared,
            self._journal.state.call_context,
            person=self._core.person,
            progress=lambda text: self._journal.signal(
                Progress(call=prepared.call.id, text=text, steps=prepared.spec.course.steps)
            ),
        )
        return asyncio.create_task(self._paused(prepared, running) if prepared.spec.course.pauses else running)

    async def _paused(self, prepared: Prepared, running: Coroutine[Any, Any, ToolResult]) -> ToolResult:
        """A call that may ask the person something on its way; what it asked of models until then is on record."""
        outside, call = self._core.turn.toolbox.outside, prepared.call
        result = await running
        while result.pauses:
            if asked := result.pauses.consulted:
                self._journal.post(*(self._consulted(call, one, 0.0) for one in asked))
            try:
                reply = await self._call_questions.reply(result.pauses)
            except asyncio.CancelledError:
                await outside.drop(call.id)
                raise
            result = await outside.resume(call.id, reply)
        return result

    async def _waited(self) -> list[ToolResult]:
        """The tools' results; a tool that a turned dial aborted is interrupted, and the turn goes on."""
        tasks = self.tasks
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        aborted = ToolResult("interrupted: the user changed a dial", CallStatus.INTERRUPTED)
        return [aborted if task.cancelled() else task.result() for task in tasks]

    def _finish(self, prepared: Prepared, result: ToolResult, seconds: float, changed: list[Event]) -> None:
        call = prepared.call
        brought = _brought_about(call, result, self._journal.state)
        asked = [self._consulted(call, one, seconds) for one in result.consulted]
        self._journal.post(*changed, finished_call(call, result, seconds), *asked, *brought)
        written = [path for event in changed if isinstance(event, FilesChanged) for path in event.paths]
        self.changed |= dict.fromkeys((*result.changed, *written))
        about = subject_of(prepared.arguments, prepared.touch.lines)
        background = prepared.arguments.get("run_in_background") is True
        idle = call.name in WHOLE_FILE_TOOLS and not result.changed
        self.ran.append(RanCall(call.name, about, prepared.decision.effects, result.status, background, idle))
        if result.ends:
            self._ending = result
        if call.name not in WAITING_TOOLS:
            self._steps.append((call.name, call.arguments, result.content))

    def _consulted(self, call: ToolCall, consulted: Consulted, seconds: float) -> ModelConsulted:
        state, cost = self._journal.state, consulted.cost
        if cost is None:
            cost = self._core.turn.models.price(consulted.model, consulted.usage)
        self.usage, self.cost = self.usage.plus(consulted.usage), self.cost + cost
        return ModelConsulted(
            call=call.id,
            tool=call.name,
            turn=self._turn,
            run=state.turns.open.run if state.turns.open else "",
            conversation=state.session,
            route=consulted.route,
            model=consulted.model,
            axes=state.axes,
            usage=consulted.usage,
            cost=cost,
            seconds=seconds,
            helper=consulted.helper or UNSET,
        )

    def _check_cost(self, prepared: list[Prepared]) -> None:
        most, spent = self._core.settings.limits.max_cost, self._journal.state.spent.cost
        if most and spent >= most and any(one.spec.asks for one in prepared):
            raise LimitReached(f"limits.max_cost = {most:g}, spent {spent:.4f}")

    def _check_limit(self, more: int) -> None:
        most = self._core.settings.limits.max_calls
        if most and len(self.ran) + more > most:
            raise LimitReached(f"limits.max_calls = {most}")


def _brought_about(call: ToolCall, result: ToolResult, state: SessionState) -> list[Event]:
    """What a call did to the conversation itself."""
    events: list[Event] = []
    if result.toolset is not None:
        events.append(MenuMoved(toolset=result.toolset))
    for todo in result.todos:
        before = state.work.todos.get(todo.id)
        events.append(TodoMoved(before=before.status if before else "", todo=todo))
    if result.phase:
        events.append(phase_moved(result.phase))
    if result.step and state.step:
        events.append(step_finished(state.step, result.step))
    if result.message:
        events.append(UserMessaged(call=call.id, text=result.message))
    return events


def phase_moved(move: swe_phases.PhaseMove) -> PhaseMoved:
    return PhaseMoved(before=move.before, after=move.after, reason=move.reason, values=move.values)


def step_finished(place: progress.WorkflowProgress, move: Move) -> StepFinished:
    node = place.node.id
    return StepFinished(run=place.run, node=node, way=move.way, target=move.target, result=move.result)
