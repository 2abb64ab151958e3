"""The wire of OpenAI's Responses API: POST {base_url}/responses.

Nothing is stored there: a reply's items, reasoning with its encrypted content included, are kept as they came and go
back unchanged to the model that made them. The terminal marker is response.completed or response.incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from quintet.adapters.files.loose_json import as_count, as_dict, as_list, as_object, as_text, decoded, encoded, sendable
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.models.http_model import MessageCache, StreamedReply
from quintet.adapters.models.keys import Key
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn import messages
from quintet.domain.turn.messages import Finish, Message, Part, Request, Role
from quintet.domain.turn.streamed_call import StreamedCall

Item = dict[str, Any]


class Responses(ChatCompletions):
    """A model behind the Responses API; key and host are as with chat completions."""

    path = "/responses"

    def __init__(self, settings: ModelSettings, api_key: Key | str, name: str) -> None:
        super().__init__(settings, api_key, name)
        self._items: dict[str, MessageCache[list[Item]]] = {}  # by origin: reasoning goes back to its own model

    def _reply(self, request: Request) -> StreamedReply:
        return _Reply(request, self._failures, self._origin(request))

    def _origin(self, request: Request) -> str:
        return f"responses:{request.model or self.name}"

    def _body(self, request: Request) -> dict[str, Any]:
        origin = self._origin(request)
        body = {**request.options, "model": request.model or self.name, "stream": True, "store": False}
        if self.facts.efforts != ():  # a model that does not reason refuses to be asked for its reasoning
            body["include"] = ["reasoning.encrypted_content"]
        if told := "\n\n".join(m.text for m in request.messages if m.role is Role.SYSTEM and m.text.strip()):
            body["instructions"] = sendable(told)
        written = self._items.setdefault(origin, MessageCache(lambda message: _items(message, origin)))
        body["input"] = [item for message in request.messages for item in written(message)]
        written.keep_to(request.messages)
        if request.tools:
            body["tools"] = [
                {"type": "function", **msgspec.to_builtins(tool), "strict": False} for tool in request.tools
            ]
            if (choice := self._choice(request)) is not None:
                body["tool_choice"] = choice
        if self._settings.max_tokens:
            body["max_output_tokens"] = self._settings.max_tokens
        if self._settings.temperature is not None:
            body["temperature"] = self._settings.temperature
        if effort := self._effort(request):
            body["reasoning"] = {"effort": effort}
        if request.json_schema:
            wanted = {"type": "json_schema", "name": "reply", "schema": request.json_schema, "strict": False}
            body["text"] = {"format": wanted}
        return body

    def _choice(self, request: Request) -> Any:
        choice = super()._choice(request)
        if not isinstance(choice, dict):
            return choice
        tools = [{"type": "function", "name": tool["function"]["name"]} for tool in choice["allowed_tools"]["tools"]]
        return {"type": "allowed_tools", "mode": "auto", "tools": tools}


class _Reply(StreamedReply):
    def __init__(self, request: Request, failures: Any, origin: str) -> None:
        super().__init__(request, failures)
        self._origin = origin
        self._stop = request.stop
        self._items: dict[int, Item] = {}  # by their place in the output
        self._spoken: set[int] = set()  # those whose text came in pieces
        self._thought: set[int] = set()
        self._streamed: dict[int, StreamedCall] = {}  # the calls, by the same place
        self._refused = False
        self._reason = ""  # why the reply is not whole

    def take(self, chunk: dict[str, Any]) -> Iterator[Part]:
        place = chunk.get("output_index")
        place = place if isinstance(place, int) else len(self._items)
        match chunk.get("type"):
            case "response.created" | "response.in_progress":
                self.begun = True
            case "response.output_text.delta" if text := as_text(chunk.get("delta")):
                self._spoken.add(place)
                yield messages.TextPart(text)
            case "response.refusal.delta" if text := as_text(chunk.get("delta")):
                self._spoken.add(place)
                self._refused = True
                yield messages.TextPart(text)
            case "response.reasoning_summary_part.added" if chunk.get("summary_index"):
                yield messages.ThinkingPart("\n\n")
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                if text := as_text(chunk.get("delta")):
                    self._thought.add(place)
                    yield messages.ThinkingPart(text)
            case "response.output_item.added":
                yield from self._streams(place, as_dict(chunk.get("item")))
            case "response.function_call_arguments.delta" if place in self._streamed:
                yield from self._streamed[place].add("", as_text(chunk.get("delta")))
            case "response.output_item.done":
                yield from self._whole(place, as_dict(chunk.get("item")))
            case "response.completed" | "response.incomplete" | "response.failed":
                yield from self._over(as_dict(chunk.get("response")))
            case "error":
                raise self.failures.of_event(chunk.get("error") or chunk)
            case _ if chunk.get("object") == "response":  # a whole answer, from a server that does not stream
                yield from self._over(chunk)
            case _ if error := chunk.get("error"):
                raise self.failures.of_event(error)

    def _streams(self, place: int, item: Item) -> Iterator[Part]:
        if item.get("type") == "function_call":
            call = self._streamed.setdefault(place, StreamedCall(len(self._streamed)))
            yield from call.add(as_text(item.get("name")), as_text(item.get("arguments")))

    def _whole(self, place: int, item: Item) -> Iterator[Part]:
        self.begun = True
        self._items[place] = item
        if item.get("type") == "message" and place not in self._spoken:
            for piece in map(as_dict, as_list(item.get("content"))):
                self._refused = self._refused or piece.get("type") == "refusal"
                if text := as_text(piece.get("text")) or as_text(piece.get("refusal")):
                    yield messages.TextPart(text)
        if item.get("type") == "reasoning" and place not in self._thought:
            told = [as_text(as_dict(piece).get("text")) for piece in as_list(item.get("summary"))]
            if any(told):
                yield messages.ThinkingPart("\n\n".join(told))

    def _over(self, response: dict[str, Any]) -> Iterator[Part]:
        if error := response.get("error"):
            raise self.failures.of_event(error)
        self.begun = True
        self.served(response.get("model"), response.get("id"))
        for place, item in enumerate(map(as_dict, as_list(response.get("output")))):
            if place not in self._items:
                yield from self._whole(place, item)
        self.finish = as_text(response.get("status")) or "completed"
        if self.finish == "failed":
            raise self.failures.of_reply("the model's reply failed", again=True)
        self._reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
        usage = as_dict(response.get("usage"))
        details = as_dict(usage.get("input_tokens_details"))
        counts = (usage.get("input_tokens"), usage.get("output_tokens"), details.get("cached_tokens"))
        self.usage = messages.Usage(*map(as_count, counts))
        self.cache_writes = as_count(details.get("cache_write_tokens"))
        self.done = True

    def last(self) -> Iterator[Part]:
        items = [item for _, item in sorted(self._items.items())]
        called = [item for item in items if item.get("type") == "function_call"]
        finish = Finish.TOOL_CALLS if called else Finish.STOP
        if self.finish == "incomplete":
            finish = Finish.REFUSED if self._reason == "content_filter" else Finish.LENGTH
        finish = Finish.REFUSED if self._refused else finish
        if finish is not Finish.REFUSED:  # what a filter has cut down is not to be acted on
            yield from self._calls(items, finish)
        yield messages.EndPart(finish, self.usage, self.cache_writes)

    def _calls(self, items: list[Item], finish: Finish) -> Iterator[Part]:
        """The calls in order, and the items as they came if reasoning is among them."""
        kept: list[Item] = []
        for position, item in enumerate(items):
            if item.get("type") == "function_call":
                name = as_text(item.get("name"))
                if not name:
                    raise self.failures.of_reply("the model called a tool without naming it", again=True)
                identity = self.fresh_id(as_text(item.get("call_id")), position)
                empty = "" if finish is Finish.LENGTH else "{}"
                item = {**item, "call_id": identity, "arguments": as_text(item.get("arguments")) or empty}
                yield messages.CallPart(messages.ToolCall(identity, name, item["arguments"]))
            kept.append(item)
        # Cut at the length limit, reasoning lacks the item that has to follow it.
        if finish is not Finish.LENGTH and any(item.get("type") == "reasoning" for item in kept):
            original = messages.Original(self._origin, encoded(kept))
            yield messages.OriginalPart(original)


def _items(message: Message, origin: str) -> list[Item]:
    if message.role is Role.SYSTEM:
        return []
    if message.original and message.original.origin == origin:
        return as_list(decoded(message.original.data))
    if message.role is Role.TOOL:
        output = _content(message.text, message.images) if message.images else sendable(message.text)
        return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
    if message.role is Role.USER:
        return [{"role": "user", "content": _content(message.text, message.images)}]
    said: list[Item] = [{"role": "assistant", "content": sendable(message.text)}] if message.text else []
    return [*said, *map(_called, message.calls)]


def _content(text: str, images: Iterable[messages.Image]) -> list[Item]:
    urls = [f"data:{image.media_type};base64,{image.data}" for image in images]
    shown: list[Item] = [{"type": "input_image", "image_url": url, "detail": "auto"} for url in urls]
    return [*([{"type": "input_text", "text": sendable(text)}] if text or not shown else []), *shown]


def _called(call: messages.ToolCall) -> Item:
    text = sendable(call.arguments)
    whole = isinstance(decoded(text), dict)
    arguments = text if whole else msgspec.json.encode(as_object(text)).decode()
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
