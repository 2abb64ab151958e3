"""The wire of Anthropic's messages API: POST {base_url}/messages.

The terminal marker is message_stop, or a stop_reason in a body that ended properly. A reply that holds thinking is kept
as it came and goes back unchanged to the model that signed it. The stable prefix of a request (tools, system, the
conversation so far) is marked for the server's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from quintet.adapters.files.loose_json import as_count, as_dict, as_list, as_object, as_text, decoded, encoded, sendable
from quintet.adapters.models.http_model import HttpModel, MessageCache, StreamedReply
from quintet.adapters.models.keys import Key
from quintet.domain.base.lazy_regex import regex
from quintet.domain.models.model_facts import ADAPTIVE
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn import messages
from quintet.domain.turn.messages import Finish, Message, Part, Request, Role
from quintet.domain.turn.streamed_call import StreamedCall

VERSION = "2023-06-01"
REPLY_TOKENS = 16_000  # the API wants a limit; thinking counts towards it
CACHED = {"cache_control": {"type": "ephemeral"}}
MOST_NAME = 64
MARKED_MESSAGES = 2  # with the marks of tools and system that makes the four that are allowed
_FINISH = {
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.REFUSED,
}
_THINKING = ("thinking", "redacted_thinking")
_INPUT_TOKENS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_NOT_IN_NAMES = regex(r"[^a-zA-Z0-9_-]")

Block = dict[str, Any]


class AnthropicMessages(HttpModel):
    """A model behind Anthropic's API, or a server that speaks the same."""

    path = "/messages"

    def __init__(self, settings: ModelSettings, api_key: Key | str, name: str) -> None:
        super().__init__(settings, api_key, name)
        self._written: dict[str, MessageCache[list[Block]]] = {}  # by origin: a signed reply goes back to its own model

    def _own_headers(self) -> dict[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": self._key} if self._key else {})}

    def _reply(self, request: Request) -> StreamedReply:
        return _Reply(request, self._failures, self._origin(request))

    def _origin(self, request: Request) -> str:
        return f"anthropic:{request.model or self.name}"

    def _body(self, request: Request) -> dict[str, Any]:
        origin = self._origin(request)
        body = {**request.options, "model": request.model or self.name, "stream": True}
        body["max_tokens"] = self._settings.max_tokens or self._reply_tokens()
        if system := "\n\n".join(m.text for m in request.messages if m.role is Role.SYSTEM and m.text.strip()):
            body["system"] = [{"type": "text", "text": sendable(system), **CACHED}]
        written = self._written.setdefault(origin, MessageCache(lambda message: _blocks(message, origin)))
        body["messages"] = _conversation(request.messages, written)
        written.keep_to(request.messages)
        tools, choice = _tools(request)
        if tools:
            body["tools"] = [*tools[:-1], {**tools[-1], **CACHED}]
            body |= {"tool_choice": {"type": "none"}} if choice == "none" else {}
        if thinking := self._thinking(request, origin):
            body["thinking"] = thinking
        if self._settings.temperature is not None and self.facts.thinking != ADAPTIVE:  # the newer ones refuse it
            body["temperature"] = self._settings.temperature
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        output: dict[str, Any] = {}
        if effort := self._effort(request):
            output["effort"] = effort
        if request.json_schema:
            output["format"] = {"type": "json_schema", "schema": _closed(request.json_schema)}
        return {**body, "output_config": output} if output else body

    def _reply_tokens(self) -> int:
        """The limit of a reply: room for what thinking may take, and no more than the model can write."""
        thinking = self._settings.thinking_tokens
        thinks = thinking < 0 or self.facts.thinking == ADAPTIVE
        wanted = REPLY_TOKENS + (REPLY_TOKENS if thinks else thinking)
        return min(wanted, self.facts.output_limit or wanted)

    def _thinking(self, request: Request, origin: str) -> dict[str, Any]:
        """What a request says of thinking. A round of calls that began without it must end without it."""
        tokens = self._settings.thinking_tokens
        if not tokens:
            return {}
        if tokens < 0 or self.facts.thinking == ADAPTIVE:  # models that decide for themselves refuse a number
            return {"type": "adaptive"}
        last = next((m for m in reversed(request.messages) if m.role is not Role.TOOL), None)
        unsigned = last and last.calls and not (last.original and last.original.origin == origin)
        return {} if unsigned else {"type": "enabled", "budget_tokens": tokens}


class _Block(msgspec.Struct):
    """A block of the reply as far as it has come."""

    begun: Block
    streamed: StreamedCall
    pieces: list[str] = msgspec.field(default_factory=list)  # text, thinking or JSON
    signature: list[str] = msgspec.field(default_factory=list)

    @property
    def kind(self) -> str:
        return as_text(self.begun.get("type"))

    @property
    def arguments(self) -> str:
        """A call's JSON. Servers that do not stream it send it with the block's beginning."""
        whole = self.begun.get("input")
        return "".join(self.pieces) or (msgspec.json.encode(whole).decode() if whole else "")


class _Reply(StreamedReply):
    def __init__(self, request: Request, failures: Any, origin: str) -> None:
        super().__init__(request, failures)
        self._origin = origin
        self._blocks: dict[int, _Block] = {}  # by index
        self._counts: dict[str, int] = {}

    def take(self, chunk: dict[str, Any]) -> Iterator[Part]:
        match chunk.get("type"):
            case "message_start":
                self.begun = True
                self._count(as_dict(chunk.get("message")))
            case "content_block_start":
                yield from self._begin(chunk.get("index"), as_dict(chunk.get("content_block")))
            case "content_block_delta":
                yield from self._add(chunk.get("index"), as_dict(chunk.get("delta")))
            case "message_delta":
                self._count({**as_dict(chunk.get("delta")), "usage": chunk.get("usage")})
            case "message_stop":
                self.done = True
            case "message":  # a whole answer, from a server that does not stream
                self.begun = True
                self._count(chunk)
                for index, block in enumerate(as_list(chunk.get("content"))):
                    yield from self._begin(index, as_dict(block))
            case _ if error := chunk.get("error"):
                raise self.failures.of_event(error)

    def _count(self, message: dict[str, Any]) -> None:
        self.served(message.get("model"), message.get("id"))
        self.finish = as_text(message.get("stop_reason")) or self.finish
        counts = {name: as_count(count) for name, count in as_dict(message.get("usage")).items()}
        self._counts |= {name: count for name, count in counts.items() if count}  # later ones count from the start

    def _begin(self, index: Any, begun: Block) -> Iterator[Part]:
        block = _Block(begun, StreamedCall(sum(one.kind == "tool_use" for one in self._blocks.values())))
        self._blocks[index if isinstance(index, int) else len(self._blocks)] = block
        if block.kind == "tool_use":
            yield from block.streamed.add(as_text(begun.get("name")), block.arguments)
        for name in ("text", "thinking"):
            if text := as_text(begun.get(name)):
                yield from self._add(index, {"type": f"{name}_delta", name: text})
        block.signature.append(as_text(begun.get("signature")))

    def _add(self, index: Any, delta: Block) -> Iterator[Part]:
        block = self._blocks.get(index) if isinstance(index, int) else next(reversed(self._blocks.values()), None)
        if block is None:
            raise self.failures.of_reply(
                "the model's reply contains a piece of a block that was not started", again=True
            )
        match delta.get("type"):
            case "text_delta" if text := as_text(delta.get("text")):
                block.pieces.append(text)
                yield messages.TextPart(text)
            case "thinking_delta" if text := as_text(delta.get("thinking")):
                block.pieces.append(text)
                yield messages.ThinkingPart(text)
            case "input_json_delta":
                piece = as_text(delta.get("partial_json"))
                self.bounds.add("arguments", len(piece))
                block.pieces.append(piece)
                yield from block.streamed.add("", piece)
            case "signature_delta":
                block.signature.append(as_text(delta.get("signature")))

    def last(self) -> Iterator[Part]:
        blocks = [block for _, block in sorted(self._blocks.items())]
        called = any(block.kind == "tool_use" for block in blocks)
        finish = _FINISH.get(self.finish, Finish.TOOL_CALLS if called else Finish.STOP)
        if finish is not Finish.REFUSED:  # what was refused halfway is not to be acted on
            yield from self._whole(blocks, finish)
        read = sum(self._counts.get(name, 0) for name in _INPUT_TOKENS)
        cached, written = self._counts.get("cache_read_input_tokens", 0), self._counts.get("output_tokens", 0)
        put = self._counts.get("cache_creation_input_tokens", 0)
        yield messages.EndPart(finish, messages.Usage(read, written, cached), put)

    def _whole(self, blocks: list[_Block], finish: Finish) -> Iterator[Part]:
        """The calls in order, and the reply as it came if it holds thinking.

        At the length limit a call without arguments is not to look whole, and thinking may lack its signature.
        """
        kept: list[Block] = []
        empty = "" if finish is Finish.LENGTH else "{}"
        for position, block in enumerate(blocks):
            if block.kind == "tool_use":
                name = as_text(block.begun.get("name"))
                if not name:
                    raise self.failures.of_reply("the model called a tool without naming it", again=True)
                identity = self.fresh_id(as_text(block.begun.get("id")), position)
                call = messages.ToolCall(identity, name, block.arguments or empty)
                kept.append(_called(call))
                yield messages.CallPart(call)
            elif block.kind == "thinking":
                signature = "".join(block.signature)
                kept.append({"type": "thinking", "thinking": "".join(block.pieces), "signature": signature})
            elif block.kind == "redacted_thinking":
                kept.append(block.begun)
            elif block.kind == "text" and (text := "".join(block.pieces)).strip():
                kept.append({"type": "text", "text": text})
        if finish is not Finish.LENGTH and any(block["type"] in _THINKING for block in kept):
            original = messages.Original(self._origin, encoded(kept))
            yield messages.OriginalPart(original)


def _tools(request: Request) -> tuple[list[Block], str]:
    """The tools as sent, and whether the model may choose. A conversation with calls in it needs their tools."""
    sent = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in request.tools
    ]
    if sent:
        return sent, request.tool_choice
    called = {_named(call.name)[:MOST_NAME]: None for message in request.messages for call in message.calls}
    return [{"name": name, "input_schema": {"type": "object"}} for name in called], "none"


def _conversation(conversation: Sequence[Message], written: MessageCache[list[Block]]) -> list[dict[str, Any]]:
    """Messages as they are sent: roles take turns, and the results of a step stand first in one message."""
    sent: list[dict[str, Any]] = []
    for message in conversation:
        if message.role is Role.SYSTEM or not (blocks := written(message)):
            continue
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if sent and sent[-1]["role"] == role:
            sent[-1]["content"] += blocks
        else:
            sent.append({"role": role, "content": [*blocks]})
    contents = [turn["content"] for turn in sent if turn["role"] == "user"]
    for content in contents:
        content.sort(key=lambda block: block["type"] != "tool_result")
    _mark(contents, sum(len(written(message)) for message in _passing(conversation)))
    return sent


def _passing(conversation: Sequence[Message]) -> Iterator[Message]:
    """The messages at the end that no later request will have."""
    return takewhile(lambda message: message.passing, reversed(conversation))


def _mark(contents: list[list[Block]], passing: int) -> None:
    """Mark for the cache what the next request will have too: the last `passing` blocks are not of it."""
    if contents and len(contents[-1]) <= passing:
        contents, passing = contents[:-1], 0
    for content in contents[-MARKED_MESSAGES:]:
        place = len(content) - 1 - (passing if content is contents[-1] else 0)
        content[place] = {**content[place], **CACHED}


def _blocks(message: Message, origin: str) -> list[Block]:
    if message.original and message.original.origin == origin:
        return as_list(decoded(message.original.data))
    text: list[Block] = [{"type": "text", "text": sendable(message.text)}] if message.text.strip() else []
    shown = [
        {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}
        for image in message.images
    ]
    if message.role is Role.TOOL:
        result: Block = {"type": "tool_result", "tool_use_id": _named(message.call_id)}
        return [{**result, "content": [*text, *shown]} if text or shown else result]
    return [*shown, *text, *map(_called, message.calls)]


def _called(call: messages.ToolCall) -> Block:
    name = _named(call.name)[:MOST_NAME]
    return {"type": "tool_use", "id": _named(call.id), "name": name, "input": as_object(call.arguments)}


def _named(text: str) -> str:
    """A name or an id that the API takes; those of another model's calls may hold anything."""
    return _NOT_IN_NAMES.sub("_", text) or "_"


def _closed(schema: Any) -> Any:
    """A schema whose objects hold nothing unnamed, as the API wants it."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    return {**closed, "additionalProperties": False} if schema.get("type") == "object" else closed
