"""One turn: an input, then model requests and tool calls until control returns to the person.

Every decision is an event. A call's `ToolStarted` is durable before the call has any effect; a call that started and
did not finish is never run again.
"""

from __future__ import annotations

import asyncio
import random

from quintet.domain import swe_phases
from quintet.domain.axes import WorkMode
from quintet.domain.errors import ModelError, QuintetError
from quintet.domain.messages import Finish, Message, Request, Role, ToolCall, Usage
from quintet.domain.protocol import (
    Countdown,
    ErrorInfo,
    Event,
    MenuMoved,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    PhaseMoved,
    Progress,
    TodoMoved,
    ToolStarted,
    TurnFinished,
    UserMessaged,
)
from quintet.domain.state import OUTCOME_UNKNOWN, SessionState
from quintet.domain.steering import Boundary
from quintet.domain.toolspec import CallStatus, ToolResult
from quintet.engine import compaction, dials
from quintet.engine.core import Core
from quintet.engine.gatekeeper import Blocked, Gatekeeper, finished_call
from quintet.engine.journal import Journal
from quintet.engine.questions import Questions
from quintet.engine.stage import Reply

FIRST_RETRY = 0.5  # seconds; doubles with each try


class LimitReached(Exception):
    """A limit the user set has been reached; `str` names it."""


class Turn:
    """Runs one turn to its end. Holds no dial: it reads the axes and lets boundaries pass."""

    def __init__(self, core: Core, journal: Journal, questions: Questions, go: asyncio.Event, turn: str) -> None:
        self._core = core
        self._journal = journal
        self._gatekeeper = Gatekeeper(core, journal, questions)
        self._go = go  # clear while the run is paused
        self._turn = turn
        self._began = core.clock.monotonic()
        self._steps = 0
        self._usage = Usage()
        self._cost = 0.0
        self._ended: TurnFinished | None = None  # set by a call that ends the turn
        self.tool_active = False
        self.tool_task: asyncio.Task[ToolResult] | None = None

    async def run(self) -> TurnFinished:
        """Steps until an answer, a block, a limit or an error. Cancellation leaves the ending to the caller."""
        if move := swe_phases.due(self._journal.state.swe, self._core.settings.tools.swe_phases):
            self._journal.post(_phase_moved(move))
        try:
            while True:
                await self._go.wait()
                self._check_limits()
                usage, cost = await compaction.compact_if_due(self._core, self._journal, self._turn)
                self._usage, self._cost = self._usage.plus(usage), self._cost + cost
                reply = await self._ask_model()
                if not reply.calls:
                    return self._ended_with(reply)
                for call in await self._gatekeeper.admit_step(reply.calls):
                    await self._carry_out(call)
                    if self._ended:
                        return self._ended
        except Blocked as block:
            return self.finished("blocked", reason=str(block))
        except LimitReached as limit:
            return self.finished("limit", reason=str(limit))
        except ModelError as error:
            return self.finished("failed", reason=error.message, error=error_info(error))

    async def run_own(self, tool: str, arguments: str) -> TurnFinished:
        """A person's own call: one, through the gate, no model."""
        call = ToolCall(self._core.ids.new("c"), tool, arguments)
        try:
            if await self._carry_out(call, own=True):
                return self.finished("done", self._journal.state.last_result)
        except Blocked as block:
            return self.finished("blocked", reason=str(block))
        return self.finished("blocked", reason=self._journal.state.last_result)

    def finished(self, status: str, answer: str = "", reason: str = "", error: ErrorInfo | None = None) -> TurnFinished:
        return TurnFinished(
            turn=self._turn,
            status=status,
            answer=answer,
            reason=reason,
            error=error,
            steps=self._steps,
            usage=self._usage,
            cost=self._cost,
        )

    def _ended_with(self, reply: Reply) -> TurnFinished:
        if reply.finish is Finish.REFUSED:
            return self.finished("blocked", reply.text, "not done; the answer says why")
        if reply.finish is Finish.LENGTH:
            return self.finished("limit", reply.text, "the reply reached the model's own length limit")
        return self.finished("done", reply.text)

    # ── the model

    async def _ask_model(self) -> Reply:
        attempt = 1
        while True:
            step = self._core.ids.new("s")
            reply = Reply()
            try:
                await self._request(step, reply, attempt)
                return reply
            except asyncio.CancelledError:
                self._keep_partial(step, reply)
                raise
            except ModelError as error:
                again = error.retryable and attempt <= self._core.settings.limits.retries
                wait = _delay(error, attempt) if again else None
                if not again:
                    self._keep_partial(step, reply)
                self._journal.post(ModelFailed(step=step, error=error_info(error), retry_in=wait))
                if wait is None:
                    raise
                await self._count_down(wait, error.message)
                attempt += 1

    async def _request(self, step: str, reply: Reply, attempt: int) -> None:
        state, core = self._journal.state, self._core
        axes = state.axes
        name = core.route(axes, state.model)
        model = core.make_model(name)
        tools = core.toolbox.schemas(state.standing)
        system = core.prompts.system({"project_root": core.project})
        request = Request(model.name, (Message(Role.SYSTEM, system), *state.messages), tools)
        if attempt == 1:
            self._steps += 1
        self._journal.post(
            ModelRequested(
                step=step,
                turn=self._turn,
                run=state.turn.run if state.turn else "",
                conversation=state.session,
                user_mode="Chat" if axes.work_mode is WorkMode.CHAT else "Agent",
                stage="act" if self._steps == 1 else "tool_followup",
                model=name,
                tool_count=len(tools),
                reasoning=False,
                axes=axes,
                attempt=attempt,
            )
        )
        await reply.stream(model, request, step, self._journal.signal)
        cost = core.price(name, reply.usage)
        self._usage = self._usage.plus(reply.usage)
        self._cost += cost
        await self._journal.append(self._replied(step, reply, cost=cost))

    def _replied(self, step: str, reply: Reply, *, cost: float = 0.0, partial: bool = False) -> ModelReplied:
        return ModelReplied(
            step=step,
            text=reply.text,
            calls=() if partial else tuple(reply.calls),
            finish=reply.finish,
            thinking=reply.thinking,
            usage=reply.usage,
            cost=cost,
            partial=partial,
            original=None if partial else reply.original,
        )

    def _keep_partial(self, step: str, reply: Reply) -> None:
        if (reply.text or reply.thinking) and not reply.ended:
            self._journal.post(self._replied(step, reply, partial=True))

    async def _count_down(self, seconds: float, why: str) -> None:
        left = seconds
        while left > 0:
            self._journal.signal(Countdown(why=why, seconds=left))
            await self._core.clock.sleep(min(1.0, left))
            left -= 1.0

    # ── its calls

    async def _carry_out(self, call: ToolCall, *, own: bool = False) -> bool:
        """Run one call, the model's or a person's own, if it may run; returns whether it did."""
        prepared = await self._gatekeeper.admit(call, own=own)
        if prepared is None:
            return False
        await self._journal.append(ToolStarted(call=call.id, turn=self._turn, tool=call.name, arguments=call.arguments))
        began = self._core.clock.monotonic()
        state = self._journal.state
        self.tool_active = True
        try:
            self.tool_task = asyncio.ensure_future(
                self._core.toolbox.run(
                    prepared,
                    state.standing,
                    person=self._core.person,
                    progress=lambda text: self._journal.signal(Progress(call=call.id, text=text)),
                )
            )
            result = await self._waited(self.tool_task)
        except asyncio.CancelledError:
            self._journal.post(finished_call(call, ToolResult(OUTCOME_UNKNOWN, CallStatus.INTERRUPTED)))
            raise
        finally:
            self.tool_active = False
            self.tool_task = None
        seconds = round(self._core.clock.monotonic() - began, 3)
        self._journal.post(finished_call(call, result, seconds), *_brought_about(call, result, state))
        if result.ends:
            reason = "" if result.ends == "done" else "not done; the answer says why"
            self._ended = self.finished(result.ends, result.answer, reason)
        if landed := dials.reach(self._journal.state, Boundary.TOOL_END):
            self._journal.post(*landed)
        return True

    async def _waited(self, task: asyncio.Task[ToolResult]) -> ToolResult:
        """The tool's result; a tool that a turned dial aborted is interrupted, and the turn goes on."""
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                return ToolResult("interrupted: the user turned a dial", CallStatus.INTERRUPTED)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise

    def _check_limits(self) -> None:
        limits, state = self._core.settings.limits, self._journal.state
        if limits.max_turns and self._steps >= limits.max_turns:
            raise LimitReached(f"limits.max_turns = {limits.max_turns}")
        if limits.max_cost and state.cost >= limits.max_cost:
            raise LimitReached(f"limits.max_cost = {limits.max_cost:g}, spent {state.cost:.4f}")
        taken = self._core.clock.monotonic() - self._began
        if limits.max_seconds and taken >= limits.max_seconds:
            raise LimitReached(f"limits.max_seconds = {limits.max_seconds:g}")


def _brought_about(call: ToolCall, result: ToolResult, state: SessionState) -> list[Event]:
    """What a call did to the conversation itself."""
    events: list[Event] = []
    if result.toolset is not None:
        events.append(MenuMoved(toolset=result.toolset))
    for todo in result.todos:
        before = state.todos.get(todo.id)
        events.append(TodoMoved(before=before.status if before else "", todo=todo))
    if result.phase:
        events.append(_phase_moved(result.phase))
    if result.message:
        events.append(UserMessaged(call=call.id, text=result.message))
    return events


def _phase_moved(move: swe_phases.PhaseMove) -> PhaseMoved:
    return PhaseMoved(before=move.before, after=move.after, reason=move.reason, values=move.values)


def error_info(error: QuintetError) -> ErrorInfo:
    return ErrorInfo(error.code, error.message, error.hint)


def _delay(error: ModelError, attempt: int) -> float:
    if error.retry_after is not None:
        return error.retry_after
    return round(FIRST_RETRY * float(2 ** (attempt - 1)) * random.uniform(1.0, 1.5), 2)
