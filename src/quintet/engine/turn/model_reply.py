"""One request to a model: parts in, a reply out. Signals flow while it streams."""

from __future__ import annotations

from collections.abc import Callable

from quintet.domain.base.errors import ModelBadResponse
from quintet.domain.journal.protocol import CallStreams, Signal, TextDelta, ThinkingDelta
from quintet.domain.ports.ports import Model
from quintet.domain.turn.messages import (
    CallBegunPart,
    EndPart,
    Finish,
    Original,
    OriginalPart,
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
        async for part in model.stream(request):
            match part:
                case TextPart(text):
                    self._text.append(text)
                    signal(TextDelta(step=step, text=text))
                case ThinkingPart(text):
                    self._thinking.append(text)
                    signal(ThinkingDelta(step=step, text=text))
                case CallBegunPart(place, tool, about):
                    signal(CallStreams(step=step, place=place, tool=tool, about=about))
                case OriginalPart(original):
                    self.original = original
                case EndPart(finish, usage, cache_writes):
                    self.finish, self.usage, self.cache_writes, self.ended = finish, usage, cache_writes, True
                case _:
                    self.calls.append(part.call)
        if not self.ended:
            raise ModelBadResponse("the reply broke off before its end")
