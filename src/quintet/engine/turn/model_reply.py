"""One request to a model: parts in, a reply out. Signals flow while it streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import cast

from quintet.domain.base.errors import ModelBadResponse
from quintet.domain.journal.protocol import CallStreams, Signal, TextDelta, ThinkingDelta
from quintet.domain.models.reply_bounds import ReplyBounds
from quintet.domain.ports.ports import Model
from quintet.domain.turn.messages import (
    CallBegunPart,
    EndPart,
    Finish,
    Original,
    OriginalPart,
    Part,
    Request,
    TextPart,
    ThinkingPart,
    ToolCall,
    Usage,
)


class Reply:
    """A reply as far as it has come; whole once `ended`."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thinking: list[str] = []
        self.calls: list[ToolCall] = []
        self.original: Original | None = None
        self.finish = Finish.STOP
        self.usage = Usage()
        self.cache_writes = 0
        self.ended = False

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def thinking(self) -> str:
        return "".join(self._thinking)

    async def stream(self, model: Model, request: Request, step: str, signal: Callable[[Signal], None]) -> None:
        bounds = ReplyBounds()
        said = cast(AsyncGenerator[Part, None], model.stream(request))
        async with aclosing(said) as parts:  # a reply that is stopped ends at once, and its connection with it
            async for part in parts:
                match part:
                    case TextPart(text):
                        self._text.append(text[: bounds.room("text")])  # what is kept does not depend on the pieces
                        bounds.add("text", len(text))
                        signal(TextDelta(step=step, text=text))
                    case ThinkingPart(text):
                        self._thinking.append(text[: bounds.room("reasoning")])
                        bounds.add("reasoning", len(text))
                        signal(ThinkingDelta(step=step, text=text))
                    case CallBegunPart(place, tool, about):
                        signal(CallStreams(step=step, place=place, tool=tool, about=about))
                    case OriginalPart(original):
                        self.original = original
                    case EndPart(finish, usage, cache_writes):
                        self.finish, self.usage, self.cache_writes, self.ended = finish, usage, cache_writes, True
                    case _:
                        bounds.add("arguments", len(part.call.arguments))
                        self.calls.append(part.call)
        if not self.ended:
            raise ModelBadResponse("the reply ended before it was complete")
