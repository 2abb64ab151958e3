"""Asks the model: one request of a stage, as the policy planned it, with retries, limits and a record of each.

What is sent is decided by the policy from the state as it is; a request that would break one of its invariants is not
sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Literal, TypeVar, cast

from msgspec import structs

from quintet.domain.base.errors import ModelBadResponse, ModelContextOverflow, ModelError, QuintetError
from quintet.domain.base.retry import given_up, model_wait
from quintet.domain.journal.conversation_state import ASIDE
from quintet.domain.journal.protocol import (
    Countdown,
    ErrorInfo,
    HistoryCompacted,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    Signal,
)
from quintet.domain.journal.reasons import EndCause
from quintet.domain.journal.state import SessionState
from quintet.domain.models.reply import Reply
from quintet.domain.permission import gate
from quintet.domain.ports.ports import Model
from quintet.domain.turn import stage_policy as policy
from quintet.domain.turn import surroundings
from quintet.domain.turn.messages import Message, Part, Request, Role, Usage
from quintet.domain.turn.stage_policy import (
    AGENTS_PAGE,
    PERSONA,
    SKILLS,
    SURROUNDINGS,
    TOOLSET_STATE,
    WORKFLOW_STATE,
    Stage,
    StagePlan,
)
from quintet.engine.agents.workflow_run import place_text
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.turn.compaction import Compaction
from quintet.engine.turn.prompts import joined
from quintet.engine.turn.time_limit import LimitReached, named

WORKFLOW_DONE = "agent/workflow_done.md"
TOO_LONG = "the server says that the request is too long"
T = TypeVar("T")
GO_ON = "stages/go_on.md"  # what is said where the model spoke last, and is to speak again


class Asker:
    """The model's side of one turn: what was asked, what it cost."""

    def __init__(self, core: Core, journal: Journal, turn: str = "") -> None:
        """Without a turn it only says what would be asked."""
        self._core = core
        self._journal = journal
        self._turn = turn
        self._began = core.clock.monotonic() if turn else 0.0
        self.steps = 0
        self.usage = Usage()
        self.cost = 0.0

    @property
    def staged(self) -> bool:
        """Whether the model can be asked about its own work; the offline rules cannot."""
        return self._core.turn.models.staged(self._journal.state.dials)

    async def ask(self, stage: Stage, values: dict[str, str]) -> Reply:
        self._check_limits()
        if stage not in ASIDE:
            await self._compact(lambda compaction: compaction.if_due())
        attempt, waited, overflowed, limits = 1, 0.0, False, self._core.settings.limits
        while True:
            step = self._core.ids.new("s")
            reply = Reply()
            try:
                await self._request(step, reply, stage, values, attempt)
                return reply
            except asyncio.CancelledError:
                self._keep_partial(step, reply)
                raise
            except ModelContextOverflow as error:
                again = not overflowed and self._compaction().can_help()
                self._journal.post(ModelFailed(step=step, error=error_info(error), retry_in=0.0 if again else None))
                if not again:
                    raise
                await self._compact(lambda compaction: compaction.if_due(TOO_LONG))
                overflowed, attempt = True, attempt + 1
            except ModelError as error:
                seconds, chance = limits.retry_seconds, self._core.turn.models.chance
                wait = model_wait(error, attempt, limits.retries, seconds=seconds, waited=waited, jitter=chance)
                if wait is None:
                    self._keep_partial(step, reply)
                    if why := given_up(error, seconds, waited):
                        error.hint = why
                self._journal.post(ModelFailed(step=step, error=error_info(error), retry_in=wait))
                if wait is None:
                    raise
                self._check_time(wait)
                await self._count_down(wait, error.message)
                attempt, waited = attempt + 1, waited + wait

    async def compact(self, keep: str) -> HistoryCompacted | None:
        """Make the conversation shorter because the user asked for it; None if there is nothing to leave out."""
        self._check_limits()
        return await self._compact(lambda compaction: compaction.now(keep))

    async def _compact(self, work: Callable[[Compaction], Awaitable[T]]) -> T:
        compaction = self._compaction()
        try:
            return await work(compaction)
        finally:
            self.usage, self.cost = self.usage.plus(compaction.usage), self.cost + compaction.cost

    def _compaction(self) -> Compaction:
        return Compaction(self._core, self._journal, self._turn, self.as_acting, _hear)

    def as_acting(self) -> Request:
        """The request that acting would make now."""
        state, core = self._journal.state, self._core
        acting = structs.replace(state.call_context, stage=Stage.ACT)
        plan = core.turn.toolbox.plan(acting, reasoning=state.dials.reasoning)
        model = core.turn.models.routed(state.dials)
        return self._composed(plan, model.name, {})

    async def _request(self, step: str, reply: Reply, stage: Stage, values: dict[str, str], attempt: int) -> None:
        state, core = self._journal.state, self._core
        axes = state.axes
        name = core.turn.models.route(state.dials)
        model = core.turn.models.make(name)
        plan = core.turn.toolbox.plan(structs.replace(state.call_context, stage=stage), reasoning=state.dials.reasoning)
        if attempt == 1:
            self.steps += 1
        self._journal.post(
            ModelRequested(
                step=step,
                turn=self._turn,
                run=state.turns.open.run if state.turns.open else "",
                conversation=state.session,
                user_mode=axes.user_mode,
                stage=stage,
                model=name,
                tool_count=len(plan.tools),
                reasoning=plan.reasoning is not policy.Reasoning.NONE,
                axes=axes,
                attempt=attempt,
            )
        )
        # What a stage says aside is no answer, and is not shown as one while it streams.
        signal = self._journal.signal if stage not in ASIDE else _unheard
        await _hear(reply, model, self._composed(plan, model.name, values), step, signal)
        cost = core.turn.models.price(name, reply.usage, reply.cache_writes)
        self.usage = self.usage.plus(reply.usage)
        self.cost += cost
        replied = self._replied(step, reply, cost=cost)
        if reply.calls:  # a call's start is synced before its effect, and this reply with it
            self._journal.post(replied)
        else:
            await self._journal.append(replied)

    def _composed(self, plan: StagePlan, model: str, values: dict[str, str]) -> Request:
        """The request as it is sent.

        Tools and system message are those of acting, whatever the stage, so that a provider's cache holds: a stage
        forbids calls, or those that it has no use for. What it has to say stands in a message of its own, the last.
        """
        state, core = self._journal.state, self._core
        shown = core.turn.toolbox.in_view(plan, state.call_context)
        parts = core.turn.prompts.parts(plan.prompts, {"project_root": core.project, **values}, self._written(plan))
        told = [part.name for part in parts]
        may_call = len(set(plan.tools) & set(shown))
        if broken := policy.broken_invariant(plan, state.axes, state.dials.reasoning, may_call, told):
            raise QuintetError(f"not sent: {broken}")
        head = joined(part for part in parts if part.name in plan.head)
        return Request(
            model,
            (Message(Role.SYSTEM, head), *self._said(plan, joined(part for part in parts if part.name in plan.last))),
            core.turn.toolbox.schemas(shown),
            tool_choice="auto" if plan.tools else "none",
            allowed=plan.tools if plan.tools and plan.tools != shown else None,
            effort=core.settings.routing.effort(state.axes.model_mode),
            json_schema=self._answer_schema(plan),
            unasked=gate.unasked(state.axes),
            purpose=_purpose(state),
        )

    def _said(self, plan: StagePlan, last: str) -> list[Message]:
        """The conversation, then what the stage says; of a stage aside, what it has come to so far stands behind it."""
        conversation = self._journal.state.conversation
        aside = conversation.aside if plan.stage in ASIDE else []
        messages = list(conversation.messages)
        if not self.staged:  # the offline rules go by the conversation alone
            return [*messages, *aside]
        if not last and messages and messages[-1].role is Role.ASSISTANT and not aside:
            last = self._core.turn.prompts.page(GO_ON)
        if last:
            messages.append(Message(Role.USER, last, passing=True))
        return [*messages, *aside]

    def _answer_schema(self, plan: StagePlan) -> dict[str, Any] | None:
        """What the wire is to hold the reply to: only where the reply may be the answer, and holds nothing else."""
        acts = plan.stage in (Stage.ACT, Stage.TOOL_FOLLOWUP) and plan.reasoning is policy.Reasoning.NONE
        return self._core.turn.answer_schema if acts else None

    def _written(self, plan: StagePlan) -> dict[str, str]:
        """The parts of a prompt that are no files of ours."""
        state = self._journal.state
        step = state.step
        head, turn = state.conversation.head, self._core.turn
        contained = turn.prompts.page(surroundings.CONTAINED[turn.toolbox.sandbox])
        contained += surroundings.also_opened(turn.toolbox.terms.places)
        written = {
            SURROUNDINGS: surroundings.told(head, state.axes, contained),
            AGENTS_PAGE: head.page if head else turn.agents_page,
            SKILLS: head.skills if head else "",
            PERSONA: step.persona if step else "",
        }
        written[PERSONA] = written[PERSONA] or state.runs.persona
        if TOOLSET_STATE in plan.prompts:
            written[TOOLSET_STATE] = turn.toolbox.place(state.call_context)
        if WORKFLOW_STATE in plan.prompts and step:
            done = turn.prompts.page(WORKFLOW_DONE) if step.done else ""
            written[WORKFLOW_STATE] = done or place_text(step, state.conversation.messages)
        return written

    def _replied(self, step: str, reply: Reply, *, cost: float = 0.0, partial: bool = False) -> ModelReplied:
        return ModelReplied(
            step=step,
            text=reply.text,
            calls=() if partial else tuple(reply.calls),
            finish=reply.finish,
            thinking=reply.thinking,
            original=None if partial else reply.original,
            usage=reply.usage,
            response_model=reply.model,
            response_id=reply.id,
            cost=cost,
            partial=partial,
            aside=self._journal.state.conversation.stage in ASIDE,
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

    def _check_limits(self) -> None:
        limits, state = self._core.settings.limits, self._journal.state
        if limits.max_turns and self.steps >= limits.max_turns:
            raise LimitReached(f"{EndCause.MAX_TURNS} = {limits.max_turns}")
        if limits.max_cost and state.spent.cost >= limits.max_cost:
            raise LimitReached(f"limits.max_cost = {limits.max_cost:g}, spent {state.spent.cost:.4f}")
        if state.cycle and (spent := state.cycle.over_budget()):
            raise LimitReached(spent)
        taken = self._core.clock.monotonic() - self._began
        if limits.max_seconds and taken >= limits.max_seconds:
            raise LimitReached(named(limits.max_seconds))

    def _check_time(self, wait: float) -> None:
        """No wait is begun that would end after the turn's time."""
        most = self._core.settings.limits.max_seconds
        if most and (left := most - (self._core.clock.monotonic() - self._began)) < wait:
            asked = f"the model's server says to retry in {wait:g} s"
            raise LimitReached(f"{named(most)}: {asked}, and {max(left, 0.0):.0f} s are left")


def _purpose(state: SessionState) -> Literal["", "plan", "retry"]:
    if state.turns.order and state.turns.order.kind == "plan":
        return "plan"
    cycle = state.cycle
    return "retry" if cycle and cycle.at_work and cycle.unit.task and cycle.unit.attempt > 1 else ""


async def _hear(reply: Reply, model: Model, request: Request, step: str, signal: Callable[[Signal], None]) -> None:
    """Make a request, and take its reply part by part as it streams."""
    said = cast(AsyncGenerator[Part, None], model.stream(request))
    async with aclosing(said) as parts:  # a reply that is stopped ends at once, and its connection with it
        async for part in parts:
            if told := reply.take(part, step):
                signal(told)
    if not reply.ended:
        raise ModelBadResponse("the reply ended before it was complete")


def _unheard(signal: Signal) -> None:
    pass


def error_info(error: QuintetError) -> ErrorInfo:
    return ErrorInfo(error.code, error.message, error.hint)
