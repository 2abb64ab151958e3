"""One turn: an input, then model requests and tool calls until control returns to the person.

Every decision is an event. A call's `ToolStarted` is durable before the call has any effect; a call that started and
did not finish is never run again.
"""

from __future__ import annotations

import asyncio
import random

from msgspec.json import encode as encode_json

from quintet.domain import badge
from quintet.domain.axes import RunControl, WorkMode, tightens
from quintet.domain.errors import ModelError, QuintetError
from quintet.domain.gate import Verdict
from quintet.domain.messages import Finish, Message, Request, Role, ToolCall, Usage
from quintet.domain.protocol import (
    CallDecided,
    Countdown,
    ErrorInfo,
    Event,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Progress,
    QuestionAsked,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from quintet.domain.state import OUTCOME_UNKNOWN
from quintet.domain.steering import Boundary
from quintet.domain.toolspec import CallStatus, ToolResult
from quintet.engine import dials
from quintet.engine.core import Core
from quintet.engine.journal import Journal
from quintet.engine.questions import APPROVAL, YES, Questions
from quintet.engine.stage import Reply
from quintet.engine.toolbox import Prepared, digest

PREVIEW_LINES = 20  # of a change that is asked about
FIRST_RETRY = 0.5  # seconds; doubles with each try


class Blocked(Exception):
    """The run cannot go on without a person; `str` says why."""


class LimitReached(Exception):
    """A limit the user set has been reached; `str` names it."""


class Turn:
    """Runs one turn to its end. Holds no dial: it reads the axes and lets boundaries pass."""

    def __init__(self, core: Core, journal: Journal, questions: Questions, go: asyncio.Event, turn: str) -> None:
        self._core = core
        self._journal = journal
        self._questions = questions
        self._go = go  # clear while the run is paused
        self._turn = turn
        self._began = core.clock.monotonic()
        self._steps = 0
        self._usage = Usage()
        self._cost = 0.0
        self._step_approved: set[str] = set()
        self.tool_active = False
        self.tool_task: asyncio.Task[ToolResult] | None = None

    async def run(self) -> TurnFinished:
        """Steps until an answer, a block, a limit or an error. Cancellation leaves the ending to the caller."""
        try:
            while True:
                await self._go.wait()
                self._check_limits()
                reply = await self._ask_model()
                if not reply.calls:
                    return self._ended_with(reply)
                for call in await self._approved(reply.calls):
                    await self._carry_out(call)
        except Blocked as block:
            return self.finished("blocked", reason=str(block))
        except LimitReached as limit:
            return self.finished("limit", reason=str(limit))
        except ModelError as error:
            return self.finished("failed", reason=error.message, error=_info(error))

    async def run_line(self, line: str) -> TurnFinished:
        """A person's own shell line: one call through the gate, no model."""
        call = ToolCall(self._core.ids.new("c"), "bash", encode_json({"command": line}).decode())
        try:
            await self._carry_out(call)
        except Blocked as block:
            return self.finished("blocked", reason=str(block))
        return self.finished("done", self._journal.state.last_result)

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
            return self.finished("blocked", reply.text, "the model cannot take this on")
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
                self._journal.post(ModelFailed(step=step, error=_info(error), retry_in=wait))
                if wait is None:
                    raise
                await self._count_down(wait, error.message)
                attempt += 1

    async def _request(self, step: str, reply: Reply, attempt: int) -> None:
        state, core = self._journal.state, self._core
        axes = state.axes
        name = core.route(axes, state.model)
        model = core.make_model(name)
        tools = core.toolbox.schemas(axes)
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
                reasoning=state.reasoning,
                axes=axes,
                attempt=attempt,
            )
        )
        await reply.stream(model, request, step, self._journal.signal)
        cost = core.price(name, reply.usage.input_tokens, reply.usage.output_tokens)
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

    async def _approved(self, calls: list[ToolCall]) -> list[ToolCall]:
        """In manual, one question for the whole step; a no answers all its calls."""
        axes = self._journal.state.axes
        if axes.run_control is not RunControl.MANUAL or not self._core.person:
            return calls
        prepared = [self._prepare(call) for call in calls]
        runnable = [p for p in prepared if isinstance(p, Prepared) and p.decision.verdict is not Verdict.DENY]
        if not runnable:
            return calls
        self._journal.post(*(self._decided(p) for p in runnable))
        lines = tuple(f"{p.spec.name} {p.call.arguments}" for p in runnable)
        answer = await self._questions.ask(
            self._question(f"run this step ({len(runnable)} call{'s'[: len(runnable) > 1]})?", runnable, lines)
        )
        if answer.choice == YES:
            self._step_approved = {p.call.id for p in runnable}
            return calls
        for call in calls:
            self._refuse(call, _declined(answer.note))
        return []

    async def _carry_out(self, call: ToolCall) -> None:
        prepared = self._prepare(call)
        if isinstance(prepared, ToolResult):
            self._journal.post(_finished(call, prepared))
            return
        if not await self._permitted(prepared):
            return
        await self._journal.append(ToolStarted(call=call.id, turn=self._turn, tool=call.name, arguments=call.arguments))
        began = self._core.clock.monotonic()
        self.tool_active = True
        try:
            self.tool_task = asyncio.ensure_future(
                self._core.toolbox.run(prepared, lambda text: self._journal.signal(Progress(call=call.id, text=text)))
            )
            result = await self._waited(self.tool_task)
        except asyncio.CancelledError:
            self._journal.post(_finished(call, ToolResult(OUTCOME_UNKNOWN, CallStatus.INTERRUPTED)))
            raise
        finally:
            self.tool_active = False
            self.tool_task = None
        seconds = round(self._core.clock.monotonic() - began, 3)
        self._journal.post(_finished(call, result, seconds))
        if landed := dials.reach(self._journal.state, Boundary.TOOL_END):
            self._journal.post(*landed)

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

    def _prepare(self, call: ToolCall) -> Prepared | ToolResult:
        return self._core.toolbox.prepare(call, self._journal.state.axes, person=self._core.person)

    async def _permitted(self, prepared: Prepared) -> bool:
        """Whether the call may start; its refusal is on record otherwise."""
        while True:
            approved_before = prepared.call.id in self._step_approved
            if not approved_before:
                self._journal.post(self._decided(prepared))
            verdict, reason = prepared.decision.verdict, prepared.decision.reason
            if verdict is Verdict.DENY:
                self._refuse(prepared.call, f"not run: {reason}")
                return False
            if verdict is Verdict.ALLOW or approved_before:
                return True
            if not self._core.person:
                self._refuse(prepared.call, f"not run: {reason}")
                raise Blocked(f"{prepared.spec.name}: {reason}")
            asked_at = self._journal.state.axes
            text = f"{prepared.spec.name} wants: {_brief(prepared)}"
            why = (f"why asked  {reason}", f"axes       {badge.full(asked_at)}")
            answer = await self._questions.ask(self._question(text, [prepared], why))
            if answer.choice != YES:
                self._refuse(prepared.call, _declined(answer.note))
                return False
            if not tightens(asked_at, self._journal.state.axes):
                return True
            again = self._prepare(prepared.call)
            if isinstance(again, ToolResult):
                self._journal.post(_finished(prepared.call, again))
                return False
            prepared = again  # the axes were tightened while the question stood: the yes is void

    def _question(self, text: str, prepared: list[Prepared], detail: tuple[str, ...]) -> QuestionAsked:
        axes = self._journal.state.axes
        return QuestionAsked(
            question=self._core.ids.new("q"),
            kind="approve",
            text=text,
            choices=APPROVAL,
            digest=" ".join(digest(p, axes) for p in prepared),
            detail=(
                *detail,
                f"effects    {', '.join(sorted({e for p in prepared for e in p.decision.effects}))}",
                *(line for p in prepared for line in _preview(p)),
            ),
        )

    def _decided(self, prepared: Prepared) -> CallDecided:
        return CallDecided(
            call=prepared.call.id,
            tool=prepared.spec.name,
            arguments=prepared.call.arguments,
            verdict=prepared.decision.verdict,
            reason=prepared.decision.reason,
            effects=prepared.decision.effects,
            grant=prepared.decision.grant,
            axes=self._journal.state.axes,
            person=self._core.person,
            sandbox=self._core.toolbox.sandbox,
        )

    def _refuse(self, call: ToolCall, text: str) -> None:
        self._journal.post(_finished(call, ToolResult(text, CallStatus.DENIED)))

    def _check_limits(self) -> None:
        limits, state = self._core.settings.limits, self._journal.state
        if limits.max_turns and self._steps >= limits.max_turns:
            raise LimitReached(f"limits.max_turns = {limits.max_turns}")
        if limits.max_cost and state.cost >= limits.max_cost:
            raise LimitReached(f"limits.max_cost = {limits.max_cost:g}, spent {state.cost:.4f}")
        taken = self._core.clock.monotonic() - self._began
        if limits.max_seconds and taken >= limits.max_seconds:
            raise LimitReached(f"limits.max_seconds = {limits.max_seconds:g}")


def _finished(call: ToolCall, result: ToolResult, seconds: float = 0.0) -> Event:
    return ToolFinished(
        call=call.id,
        tool=call.name,
        status=result.status,
        content=result.content,
        seconds=seconds,
        changed=result.changed,
        summary=result.summary,
    )


def _declined(note: str) -> str:
    return f"not run: the user said no: {note}" if note else "not run: the user said no"


def _brief(prepared: Prepared) -> str:
    values = prepared.arguments
    return str(values.get("command") or values.get("file_path") or values.get("path") or prepared.call.arguments)


def _preview(prepared: Prepared) -> list[str]:
    """What an edit would change, as the first lines of a diff."""
    values = prepared.arguments
    old, new = str(values.get("old_string", "")), str(values.get("new_string", values.get("content", "")))
    lines = [f"- {line}" for line in old.splitlines()] + [f"+ {line}" for line in new.splitlines()]
    more = [f"… {len(lines) - PREVIEW_LINES} more lines"] if len(lines) > PREVIEW_LINES else []
    return lines[:PREVIEW_LINES] + more


def _info(error: QuintetError) -> ErrorInfo:
    return ErrorInfo(error.code, error.message, error.hint)


def _delay(error: ModelError, attempt: int) -> float:
    if error.retry_after is not None:
        return error.retry_after
    return round(FIRST_RETRY * float(2 ** (attempt - 1)) * random.uniform(1.0, 1.5), 2)
