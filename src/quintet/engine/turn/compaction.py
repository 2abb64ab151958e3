"""Compaction: old outputs are made short, older messages give way to a summary, and the journal says so.

The rules' part of a summary needs no model and is always there. What happened is told by the model in use, if there is
one and the settings leave it to it: as one more message on what it was sent before, so that a provider's cache is
used; on a shortened transcript where that would not fit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import structs

from quintet.domain.base.errors import ModelContextOverflow, ModelError, SettingsError
from quintet.domain.journal.protocol import ErrorInfo, HistoryCompacted, ModelFailed, ModelRequested, Noticed, Signal
from quintet.domain.journal.state import SessionState
from quintet.domain.models.reply import Reply
from quintet.domain.ports.ports import Model
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn import compaction, context
from quintet.domain.turn.compaction import Summary
from quintet.domain.turn.context import ContextLimits
from quintet.domain.turn.messages import Finish, Message, Request, Role, Usage
from quintet.engine.session.core import Core
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.journal import Journal

PROMPT, KEEP = "stages/compact.md", "stages/compact_keep.md"
MOST_STEPS = 3  # of one compaction: outputs, a summary, and outputs of the newest messages
FITS = 0.95  # of a window, for a request that asks for a summary
Composed = Callable[[], Request]  # the request that acting would make now
Hear = Callable[[Reply, Model, Request, str, Callable[[Signal], None]], Awaitable[None]]  # makes a request


class Compaction:
    """Makes the conversation shorter before a request of a turn, or because the user says so; keeps what that cost."""

    def __init__(self, core: Core, journal: Journal, turn: str, composed: Composed, hear: Hear) -> None:
        self._core = core
        self._journal = journal
        self._turn = turn
        self._composed = composed
        self._hear = hear
        self.usage = Usage()
        self.cost = 0.0

    @property
    def _state(self) -> SessionState:
        return self._journal.state

    async def if_due(self, overflow: str = "") -> bool:
        """Compact if the conversation has grown too long; returns whether it did.

        `overflow` is what the server said: then it does not fit, whatever was estimated, and no hook can keep it.
        """
        asked, done = bool(overflow), False
        for _ in range(MOST_STEPS):
            if (step := self._next_step(overflow)) is None:
                break
            if not asked and not await self._allowed(step):
                break
            asked = done = True
            if not step.shortened and writes(self._core, self._state):
                step = await self._with_narrative(step, "", fits=not overflow)
            self._post(step)
        return done

    def can_help(self) -> bool:
        """Whether a conversation that was too long for the server can be made shorter."""
        return self._next_step("", context.tokens(self._state.conversation.messages)) is not None

    async def now(self, keep: str) -> HistoryCompacted | None:
        """Compact because the user asked for it; None if there is nothing to leave out."""
        event = by_rules(
            self._core, self._state, "/compact", limits_of(self._core, self._state, self._composed()), keep
        )
        if event is None:
            return None
        event = await self._with_narrative(event, keep, fits=True)
        self._post(event)
        return event

    def _post(self, event: HistoryCompacted) -> None:
        self._journal.post(event)
        self.usage, self.cost = self.usage.plus(event.usage), self.cost + event.cost

    def _next_step(self, overflow: str, too_many: int = 0) -> HistoryCompacted | None:
        state = self._state
        # The offline rules read the whole turn anew at each request, so it stays whole; no window of theirs overflows.
        if self._core.turn.models.routed(state.dials).name == "builtin":
            return None
        limits = limits_of(self._core, state, self._composed(), too_many)
        messages, summarised = state.conversation.messages, state.conversation.summary is not None
        reason = compaction.over(messages, limits, summarised=summarised)
        if not reason:
            return None
        reason = overflow or reason
        if places := compaction.to_shorten(messages, limits, summarised=summarised):
            return HistoryCompacted(
                reason=reason,
                before_messages=len(messages),
                before_tokens=context.tokens(messages),
                after_tokens=context.tokens(context.with_shortened(messages, places)),
                summary=state.conversation.summary or Summary(),
                kept=len(messages),
                shortened=places,
            )
        return by_rules(self._core, state, reason, limits)

    async def _allowed(self, step: HistoryCompacted) -> bool:
        hooks = Hooks(self._core, self._journal)
        said = await hooks.run(HookPlace.PRE_COMPACT, reason=step.reason, messages=step.before_messages)
        if said.blocked:
            self._journal.post(Noticed(level="info", code="COMPRESSION", text=f"not compacted: {said.reason}"))
        return not said.blocked

    async def _with_narrative(self, event: HistoryCompacted, keep: str, *, fits: bool) -> HistoryCompacted:
        """The compaction with what happened told by the routed model; by the rules, and said so, if it cannot."""
        core, state = self._core, self._state
        name = core.turn.models.route(state.dials)
        limits = limits_of(core, state, self._composed())
        for attempt in (1, 2):
            step, reply = core.ids.new("s"), Reply()
            try:
                await self._ask(event, keep, limits, fits, step, attempt, reply)
                break
            except ModelError as error:
                again = isinstance(error, ModelContextOverflow) and fits and attempt == 1
                told = ErrorInfo(error.code, error.message, error.hint)
                self._journal.post(ModelFailed(step=step, error=told, retry_in=0.0 if again else None))
                if not again:
                    self._journal.post(_instead(name))
                    return event
                fits = False
        cost = core.turn.models.price(name, reply.usage, reply.cache_writes)
        event = structs.replace(event, step=step, usage=reply.usage, cost=cost)
        size = compaction.sizes(limits.tokens)
        whole = reply.finish is Finish.STOP and not reply.calls
        summary = compaction.with_narrative(reply.text, event.summary, size) if whole else None
        if summary is None:
            self._journal.post(_instead(name))
            return event
        kept = state.conversation.messages[len(state.conversation.messages) - event.kept :]
        after = context.tokens([compaction.summary_message(summary), *kept])
        return structs.replace(event, summary=summary, by=name, after_tokens=after)

    async def _ask(
        self,
        event: HistoryCompacted,
        keep: str,
        limits: ContextLimits,
        fits: bool,
        step: str,
        attempt: int,
        reply: Reply,
    ) -> None:
        core, state = self._core, self._state
        name = core.turn.models.route(state.dials)
        self._journal.post(
            ModelRequested(
                step=step,
                turn=self._turn,
                run=state.turns.open.run if state.turns.open else "",
                conversation=state.session,
                user_mode=state.axes.user_mode,
                stage=compaction.STAGE,
                model=name,
                tool_count=0,
                reasoning=False,
                axes=state.axes,
                attempt=attempt,
            )
        )
        model = core.turn.models.make(name)
        request = self._asked(event, model.name, keep, limits, fits)
        await self._hear(reply, model, request, step, lambda signal: None)

    def _asked(self, event: HistoryCompacted, model: str, keep: str, limits: ContextLimits, fits: bool) -> Request:
        """The request for a narrative: the conversation as it is sent, with one more message, if that fits."""
        core, state = self._core, self._state
        told = core.turn.prompts.page(PROMPT)
        if keep.strip():
            told += "\n\n" + core.turn.prompts.filled(KEEP, {"user_input": keep.strip()})
        sent = self._composed()
        if fits and self._fits(sent, told):
            said = (
                *(message for message in sent.messages if not message.passing),
                Message(Role.USER, told, passing=True),
            )
            return structs.replace(
                sent, messages=said, tool_choice="none", allowed=None, json_schema=None, unasked=frozenset(), purpose=""
            )
        older = state.conversation.messages[: len(state.conversation.messages) - event.kept]
        most = 2 * (limits.tokens or context.DEFAULT_WINDOW // 2)  # characters: half of what messages may hold
        return Request(model, (Message(Role.SYSTEM, told), Message(Role.USER, compaction.transcript(older, most))))

    def _fits(self, sent: Request, told: str) -> bool:
        models, state = self._core.turn.models, self._state
        name = models.route(state.dials)
        window = models.window(name) or context.DEFAULT_WINDOW
        head = context.head_tokens(sent)
        held = head + context.tokens(sent.messages[1:]) + len(told) // 4
        scale = context.scale(state.conversation.measured, head, state.conversation.messages)
        overflowed = state.conversation.overflowed.get(name, 0)
        if overflowed and context.tokens(state.conversation.messages) >= overflowed:
            return False
        return held * scale // 100 + compaction.sizes(0).narrative // 4 <= window * FITS


def writes(core: Core, state: SessionState) -> bool:
    """Whether a model tells what happened: the settings leave it to one, and one is configured that can."""
    try:
        return core.settings.compression.by == "model" and core.turn.models.staged(state.dials)
    except SettingsError:
        return False


def limits_of(core: Core, state: SessionState, request: Request, too_many: int = 0) -> ContextLimits:
    """What the conversation may hold with the model in use; `request` is what would be sent now.

    `too_many` is how many tokens the server has just refused, where that is not on record yet.
    """
    models, conversation = core.turn.models, state.conversation
    name, head = models.route(state.dials), context.head_tokens(request)
    return context.limits(
        core.settings.compression,
        models.window(name),
        head=head,
        reply=models.reply_limit(name),
        scale=context.scale(conversation.measured, head, conversation.messages),
        overflowed=too_many or conversation.overflowed.get(name, 0),
    )


def by_rules(
    core: Core, state: SessionState, reason: str, limits: ContextLimits, keep: str = ""
) -> HistoryCompacted | None:
    """The compaction that the rules make of the conversation as it is; None if there is nothing to leave out."""
    messages, summarised = state.conversation.messages, state.conversation.summary is not None
    start = compaction.cut(messages, limits, summarised=summarised)
    if start <= summarised:
        return None
    summary = compaction.summarise(
        messages,
        start,
        earlier=state.conversation.summary,
        requests=state.conversation.requests,
        outcomes=state.conversation.outcomes,
        todos=state.work.todos,
        keep=keep,
        size=compaction.sizes(limits.tokens),
    )
    return HistoryCompacted(
        reason=reason,
        before_messages=len(messages),
        before_tokens=context.tokens(messages),
        after_tokens=context.tokens([compaction.summary_message(summary), *messages[start:]]),
        summary=summary,
        kept=len(messages) - start,
    )


def _instead(name: str) -> Noticed:
    text = f"{name} wrote no usable summary of the conversation; Quintet made one by its own rules instead"
    return Noticed(level="warning", code="COMPRESSION", text=text)
