"""The wire of OpenAI-compatible servers: POST {base_url}/chat/completions.

The terminal marker is [DONE], or a finish_reason in a body that ended properly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from quintet.adapters.files.loose_json import as_count, as_dict, as_list, as_object, as_text, decoded, encoded, sendable
from quintet.adapters.models.http_model import HttpModel, MessageCache, StreamedReply
from quintet.adapters.models.keys import Key
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn import messages
from quintet.domain.turn.messages import Finish, Message, Part, Request, Role
from quintet.domain.turn.streamed_call import StreamedCall

AZURE = (".azure.com", ".azure.us", ".azure.cn")
_FINISH = {"tool_calls": Finish.TOOL_CALLS, "length": Finish.LENGTH, "content_filter": Finish.REFUSED}


class ChatCompletions(HttpModel):
    """A model behind an OpenAI-compatible server."""

    path = "/chat/completions"

    def __init__(self, settings: ModelSettings, api_key: Key | str, name: str) -> None:
        super().__init__(settings, api_key, name)
        self._written = MessageCache(lambda message: msgspec.Raw(msgspec.json.encode(_written(message))))

    def _own_headers(self) -> dict[str, str]:
        if self._key and self._host.endswith(AZURE) and not self._source_is_command():
            return {"api-key": self._key}  # a token of Azure's comes from a command, and is a bearer's
        return {"authorization": f"Bearer {self._key}"} if self._key else {}

    def _reply(self, request: Request) -> StreamedReply:
        return _Reply(request, self._failures)

    def _body(self, request: Request) -> dict[str, Any]:
        body = {**request.options, "model": request.model or self.name, "stream": True}
        body["stream_options"] = {"include_usage": True}
        body["messages"] = list(_sent(request.messages, self._written))
        self._written.keep_to(request.messages)
        if request.tools:
            body["tools"] = [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in request.tools]
            if (choice := self._choice(request)) is not None:
                body["tool_choice"] = choice
        if self._settings.max_tokens:
            # OpenAI's own newer models refuse the old name, and other servers know no other.
            own = self._host == "api.openai.com" or self._host.endswith(AZURE)
            body["max_completion_tokens" if own else "max_tokens"] = self._settings.max_tokens
        if self._settings.temperature is not None:
            body["temperature"] = self._settings.temperature
        if effort := self._effort(request):
            body["reasoning_effort"] = effort
        if request.stop:
            body["stop"] = list(request.stop)
        if request.json_schema:
            wanted = {"name": "reply", "schema": request.json_schema}  # `strict` would refuse most schemas
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return body

    def _choice(self, request: Request) -> Any:
        allowed = self._allowed(request)
        if request.tool_choice == "none" or allowed == ():
            return "none"
        if allowed is None:
            return None
        tools = [{"type": "function", "function": {"name": name}} for name in allowed]
        return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}}


class _Call(msgspec.Struct):
    index: int
    streamed: StreamedCall
    id: str = ""
    name: str = ""
    arguments: list[str] = msgspec.field(default_factory=list)


class _Reply(StreamedReply):
    _refused = False
    _calls: list[_Call]
    _open: dict[int, _Call]  # by index, the call that fragments go to

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._calls, self._open = [], {}

    def take(self, chunk: dict[str, Any]) -> Iterator[Part]:
        choice = as_dict(next(iter(as_list(chunk.get("choices"))), None))
        if error := chunk.get("error") or choice.get("error"):
            raise self.failures.of_event(error)
        self.served(chunk.get("model"), chunk.get("id"))
        if usage := as_dict(chunk.get("usage")):
            details = as_dict(usage.get("prompt_tokens_details"))
            cached = details.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
            self.cache_writes = as_count(details.get("cache_write_tokens", usage.get("cache_creation_input_tokens")))
            counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
            self.usage = messages.Usage(*map(as_count, counts))
        delta = as_dict(choice.get("delta", choice.get("message")))
        self.finish = as_text(choice.get("finish_reason")) or self.finish
        self.begun = self.begun or bool(delta or self.finish)
        if thinking := as_text(delta.get("reasoning_content")) or as_text(delta.get("reasoning")):
            yield messages.ThinkingPart(thinking)
        if text := as_text(delta.get("content")):
            yield messages.TextPart(text)
        if refusal := as_text(delta.get("refusal")):
            self._refused = True
            yield messages.TextPart(refusal)
        for position, fragment in enumerate(as_list(delta.get("tool_calls"))):
            yield from self._take_fragment(as_dict(fragment), position)

    def _take_fragment(self, fragment: dict[str, Any], position: int) -> Iterator[Part]:
        function = as_dict(fragment.get("function"))
        identity, name, arguments = (
            as_text(fragment.get("id")),
            as_text(function.get("name")),
            function.get("arguments"),
        )
        text = encoded(arguments) if isinstance(arguments, dict) else as_text(arguments)
        index = fragment.get("index")
        index = index if isinstance(index, int) else position
        call = self._open.get(index)
        if call is None or (name and _is_over(call, identity, text)):
            call = self._open[index] = _Call(index, StreamedCall(len(self._calls)))
            self._calls.append(call)
        call.id = call.id or identity
        call.name = call.name or name
        self.bounds.add("arguments", len(text))
        call.arguments.append(text)
        yield from call.streamed.add(call.name, text)

    def last(self) -> Iterator[Part]:
        finish = _FINISH.get(self.finish, Finish.TOOL_CALLS if self._calls else Finish.STOP)
        finish = Finish.REFUSED if self._refused else finish
        if finish is not Finish.REFUSED:  # what a filter has cut down is not to be acted on
            yield from self._whole_calls("{}" if finish is Finish.TOOL_CALLS else "")
        yield messages.EndPart(finish, self.usage, self.cache_writes)

    def _whole_calls(self, empty: str) -> Iterator[Part]:
        """The calls in order. `empty` stands for no arguments; a call cut at the length limit is not to look whole."""
        for position, call in enumerate(sorted(self._calls, key=lambda call: call.index)):
            if not call.name:
                raise self.failures.of_reply("the model called a tool without naming it", again=True)
            identity = self.fresh_id(call.id, position)
            yield messages.CallPart(messages.ToolCall(identity, call.name, "".join(call.arguments) or empty))


def _is_over(call: _Call, identity: str, text: str) -> bool:
    """Whether a fragment with a name begins another call at the same index: some servers number all their calls 0."""
    if call.id and identity:
        return call.id != identity
    return bool(text) and isinstance(decoded("".join(call.arguments)), dict)


def _sent(conversation: Iterable[Message], written: Callable[[Message], Any]) -> Iterator[Any]:
    """Messages as they are sent. A tool's result may hold no image here: the images follow the results of its step."""
    shown: list[messages.Image] = []
    for message in conversation:
        if shown and message.role is not Role.TOOL:
            yield _pictured("Images of these results:", shown)
            shown = []
        if message.role is Role.TOOL:
            shown += message.images
        yield written(message)
    if shown:
        yield _pictured("Images of these results:", shown)


def _written(message: Message) -> dict[str, Any]:
    if message.role is Role.TOOL:
        return {"role": "tool", "content": sendable(message.text), "tool_call_id": message.call_id}
    if message.images:
        return _pictured(message.text, message.images)
    sent: dict[str, Any] = {"role": message.role, "content": sendable(message.text)}
    if message.calls:
        sent["content"] = sent["content"] or None
        sent["tool_calls"] = [{"id": call.id, "type": "function", "function": _called(call)} for call in message.calls]
    return sent


def _called(call: messages.ToolCall) -> dict[str, str]:
    text = sendable(call.arguments)
    whole = isinstance(decoded(text), dict)
    return {"name": call.name, "arguments": text if whole else msgspec.json.encode(as_object(text)).decode()}


def _pictured(text: str, images: Iterable[messages.Image]) -> dict[str, Any]:
    urls = [{"url": f"data:{image.media_type};base64,{image.data}"} for image in images]
    shown = [{"type": "image_url", "image_url": url} for url in urls]
    return {"role": "user", "content": [*([{"type": "text", "text": sendable(text)}] if text else []), *shown]}
