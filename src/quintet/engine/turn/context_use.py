"""How much of its window the model's next request would fill: the one count that every surface shows."""

from __future__ import annotations

from msgspec import Struct

from quintet.domain.journal.state import SessionState
from quintet.domain.turn import context
from quintet.domain.turn.context import ContextPart
from quintet.domain.turn.messages import Request
from quintet.engine.session.core import Core


class ContextUse(Struct, frozen=True):
    model: str
    window: int  # tokens that the model reads, or is assumed to
    known: bool  # whether its window is
    scale: int  # percent by which our count falls short of the provider's
    parts: tuple[ContextPart, ...]

    @property
    def used(self) -> int:
        return sum(part.tokens for part in self.parts)

    @property
    def share(self) -> float:
        return self.used / self.window


def context_use(core: Core, state: SessionState, request: Request) -> ContextUse:
    conversation, models = state.conversation, core.turn.models
    name = models.route(state.dials)
    scale = context.scale(conversation.measured, context.head_tokens(request), conversation.messages)
    parts = context.parts(request, summarised=conversation.summary is not None, scale=scale)
    known = models.window(name)
    return ContextUse(name, known or context.DEFAULT_WINDOW, bool(known), scale, tuple(parts))
