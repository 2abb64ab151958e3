"""What a conversation is made of: messages, tool calls, and the parts a model streams back."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct, field

from quintet.domain.permission.effects import Effect

Effort = Literal["", "low", "medium", "high"]


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


class Image(Struct, frozen=True, gc=False):
    """A picture for a model to look at."""

    media_type: str  # image/png, image/jpeg, image/gif or image/webp
    data: str  # base64


class KeptImage(Struct, frozen=True, gc=False):
    """An image in a file that its digest names: journals and recordings hold this, and a request gets the image."""

    media_type: str
    digest: str  # SHA-256 of its bytes
    size: int  # bytes


class Original(Struct, frozen=True, gc=False):
    """A reply as its wire spells it: thinking that a model signed goes back to that model unchanged, or not at all."""

    origin: str  # wire and model; nobody else may read `data`
    data: str


class Message(Struct, frozen=True, omit_defaults=True, gc=False):
    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""  # for role tool: which call this answers
    images: tuple[Image, ...] = ()  # for roles user and tool
    original: Original | None = None  # for role assistant
    passing: bool = False  # for role user: said in this request alone, so nothing up to here is worth a cache
    kept: tuple[KeptImage, ...] = ()  # images of a tool's result, to be put among `images` when it is sent


class Usage(Struct, frozen=True, gc=False):
    input_tokens: int = 0  # all of them, cached ones included
    output_tokens: int = 0
    cached_tokens: int = 0  # of the input, what was read from a cache

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
    FAILED = "failed"  # the model says that it tried and did not deliver


class EndStatus(StrEnum):
    """How work ended: a turn, a stretch of a cycle, or an input with all that it began."""

    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"  # it needs a person, or was refused
    LIMIT = "limit"
    INTERRUPTED = "interrupted"  # cut off; it can go on
    CANCELLED = "cancelled"
    WAITING = "waiting"  # of a cycle: for a person's word on its plan
    PAUSED = "paused"  # of a cycle


class TextPart(Struct, frozen=True):
    text: str


class ThinkingPart(Struct, frozen=True):
    text: str


class CallPart(Struct, frozen=True):
    """A complete tool call; wires assemble fragments before handing it on."""

    call: ToolCall


class CallBegunPart(Struct, frozen=True):
    """A tool call of which more is coming, to be shown meanwhile: nothing depends on it."""

    place: int  # among the calls of the reply
    tool: str
    about: str = ""  # the file, the command; empty while it is not known


class OriginalPart(Struct, frozen=True):
    """The whole reply as its wire spells it, where that holds more than text and calls; at most one."""

    original: Original


class EndPart(Struct, frozen=True, omit_defaults=True):
    finish: Finish
    usage: Usage = Usage()
    cache_writes: int = 0  # of the input, what was put into a cache, which some providers price higher
    model: str = ""  # the one that answered, as its server names it
    id: str = ""  # of the reply, at its server


Part = TextPart | ThinkingPart | CallBegunPart | CallPart | OriginalPart | EndPart


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
    options: dict[str, Any] = field(default_factory=dict)  # more fields of the request's body, as the server knows them
    tool_choice: Literal["auto", "none"] = "auto"  # none: the tools stay in view, and none may be called
    allowed: tuple[str, ...] | None = None  # of the tools in view, those that may be called; None: all of them
    effort: Effort = ""  # how hard to think; empty for what the model's settings say
    stop: tuple[str, ...] = ()  # texts that end the reply
    json_schema: dict[str, Any] | None = None  # the reply's text is to be JSON of this schema
    unasked: frozenset[Effect] = frozenset()  # what proceeds unasked now, for a model that plans by it
    purpose: Literal["", "plan", "retry"] = ""  # of the turn, for a model that goes by rules: a plan, or a task again
