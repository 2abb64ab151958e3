"""What a conversation is made of: messages, tool calls, and the parts a model streams back."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from quintet.domain.grants import Effect


class ToolCall(Struct, frozen=True, gc=False):
    """A call as the model wrote it; `arguments` is its JSON text, which may be anything at all."""

    id: str
    name: str
    arguments: str = "{}"


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Message(Struct, frozen=True, omit_defaults=True, gc=False):
    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""  # for role tool: which call this answers


class Usage(Struct, frozen=True, gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


class Finish(StrEnum):
    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSED = "refused"  # the model says it cannot take this on; the run ends blocked


class TextPart(Struct, frozen=True):
    text: str


class ThinkingPart(Struct, frozen=True):
    text: str


class CallPart(Struct, frozen=True):
    """A complete tool call; wires assemble fragments before handing it on."""

    call: ToolCall


class EndPart(Struct, frozen=True):
    finish: Finish
    usage: Usage = Usage()


Part = TextPart | ThinkingPart | CallPart | EndPart


class ToolSchema(Struct, frozen=True):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]


class Request(Struct, frozen=True):
    """One model request: everything the model is told."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    unasked: frozenset[Effect] = frozenset()  # what proceeds unasked now, for a model that plans by it
