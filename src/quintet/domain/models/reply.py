"""A model's reply, as its parts add up. Pure."""

from __future__ import annotations

from quintet.domain.journal.protocol import CallStreams, Signal, TextDelta, ThinkingDelta
from quintet.domain.models.reply_bounds import ReplyBounds
from quintet.domain.turn.messages import (
    CallBegunPart,
    EndPart,
    Finish,
    Original,
    OriginalPart,
    Part,
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
        self._bounds = ReplyBounds()
        self.calls: list[ToolCall] = []
        self.original: Original | None = None
        self.finish = Finish.STOP
        self.usage = Usage()
        self.cache_writes = 0
        self.model = self.id = ""  # as the server names them
        self.ended = False

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def thinking(self) -> str:
        return "".join(self._thinking)

    def take(self, part: Part, step: str) -> Signal | None:
        """Add a part; returns what a reader is to see of it at once. ModelBadResponse if the reply gets too long."""
        match part:
            case TextPart(text):
                self._text.append(text[: self._bounds.room("text")])  # what is kept does not depend on the pieces
                self._bounds.add("text", len(text))
                return TextDelta(step=step, text=text)
            case ThinkingPart(text):
                self._thinking.append(text[: self._bounds.room("reasoning")])
                self._bounds.add("reasoning", len(text))
                return ThinkingDelta(step=step, text=text)
            case CallBegunPart(place, tool, about):
                return CallStreams(step=step, place=place, tool=tool, about=about)
            case OriginalPart(original):
                self.original = original
            case EndPart(finish, usage, cache_writes):
                self.finish, self.usage, self.cache_writes, self.ended = finish, usage, cache_writes, True
                self.model, self.id = part.model, part.id
            case _:
                self._bounds.add("arguments", len(part.call.arguments))
                self.calls.append(part.call)
        return None
