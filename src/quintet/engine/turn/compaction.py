"""Compaction: the conversation's older messages give way to a summary, and the journal says so.

The rules' summary needs no model and is always there; a model's, if the settings ask for one, takes its place only
when it says something.
"""

from __future__ import annotations

from msgspec import structs

from quintet.domain.base.errors import ModelError
from quintet.domain.dials.axes import WorkMode
from quintet.domain.journal.protocol import ErrorInfo, HistoryCompacted, ModelFailed, ModelRequested, Noticed
from quintet.domain.journal.state import SessionState
from quintet.domain.settings.hooks import HookPlace
from quintet.domain.turn import compression
from quintet.domain.turn.messages import Finish, Message, Request, Role, Usage
from quintet.engine.session.core import Core
from quintet.engine.session.hooks import Hooks
from quintet.engine.session.journal import Journal
from quintet.engine.turn.model_reply import Reply

PROMPT = "stages/compact.md"


async def compact_if_due(core: Core, journal: Journal, turn: str) -> tuple[Usage, float]:
    """Before a request of a turn: compact if the conversation has grown too long; returns what that used and cost."""
    state, settings = journal.state, core.settings.compression
    reason = compression.due(state.conversation.messages, settings, summarised=state.conversation.summary is not None)
    event = by_rules(core, state, reason) if reason else None
    if event is None:
        return Usage(), 0.0
    said = await Hooks(core, journal).run(HookPlace.PRE_COMPACT, reason=reason, messages=event.before_messages)
    if said.blocked:
        journal.post(Noticed(level="info", code="COMPRESSION", text=f"not compacted: {said.reason}"))
        return Usage(), 0.0
    if settings.by == "model":
        event = await _by_model(core, journal, turn, event)
    journal.post(event)
    return event.usage, event.cost


def by_rules(core: Core, state: SessionState, reason: str) -> HistoryCompacted | None:
    """The compaction that the rules make of the conversation as it is; None if there is nothing to leave out."""
    messages, summarised = state.conversation.messages, state.conversation.summary is not None
    start = compression.cut(messages, core.settings.compression, summarised=summarised)
    # The offline rules read the whole turn anew at each request, so it stays whole; they have no window to overflow.
    replayed = state.turns.open is not None and core.turn.models.routed(state.dials).name == "builtin"
    if start <= summarised or replayed:
        return None
    summary = compression.summarise(
        messages,
        start,
        earlier=state.conversation.summary,
        requests=state.conversation.requests,
        outcomes=state.conversation.outcomes,
        todos=state.work.todos,
    )
    return HistoryCompacted(
        reason=reason,
        before_messages=len(messages),
        before_tokens=compression.tokens(messages),
        after_tokens=compression.tokens([compression.summary_message(summary), *messages[start:]]),
        summary=summary,
        kept=len(messages) - start,
    )


async def _by_model(core: Core, journal: Journal, turn: str, event: HistoryCompacted) -> HistoryCompacted:
    """The same compaction with the summary written by the routed model; by the rules, and said so, if it cannot."""
    state, step, reply = journal.state, core.ids.new("s"), Reply()
    name = core.turn.models.route(state.dials)
    older = state.conversation.messages[: len(state.conversation.messages) - event.kept]
    journal.post(
        ModelRequested(
            step=step,
            turn=turn,
            run=state.turns.open.run if state.turns.open else "",
            conversation=state.session,
            user_mode="Chat" if state.axes.work_mode is WorkMode.CHAT else "Agent",
            stage=compression.STAGE,
            model=name,
            tool_count=0,
            reasoning=False,
            axes=state.axes,
        )
    )
    told = (Message(Role.SYSTEM, core.turn.prompts.page(PROMPT)), Message(Role.USER, compression.transcript(older)))
    try:
        model = core.turn.models.make(name)
        await reply.stream(model, Request(model.name, told), step, lambda signal: None)
    except ModelError as error:
        journal.post(ModelFailed(step=step, error=ErrorInfo(error.code, error.message, error.hint)), _instead(name))
        return event
    event = structs.replace(event, step=step, usage=reply.usage, cost=core.turn.models.price(name, reply.usage))
    summary = compression.summary_in(reply.text, event.summary) if reply.finish is Finish.STOP else None
    if summary is None:
        journal.post(_instead(name))
        return event
    kept = state.conversation.messages[len(state.conversation.messages) - event.kept :]
    after = compression.tokens([compression.summary_message(summary), *kept])
    return structs.replace(event, summary=summary, by=name, after_tokens=after)


def _instead(name: str) -> Noticed:
    text = f"{name} wrote no usable summary of the conversation; the rules' summary is used"
    return Noticed(level="warning", code="COMPRESSION", text=text)
