"""The wire of OpenAI-compatible servers: POST {base_url}/chat/completions, read as server-sent events.

A reply has its EndPart only if its terminal marker arrived: [DONE], a finish_reason in a body that ended properly, or a
whole JSON answer. Anything else is a ModelError, retryable where a second try may cure it. Every call id handed on is
new to the conversation, whatever the server sent. No message holds the key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from quintet import __version__
from quintet.adapters.http_client import HttpClient
from quintet.adapters.server_events import MAX_EVENT_BYTES, ServerEvents
from quintet.domain import errors, messages
from quintet.domain.messages import Finish, Part, Request
from quintet.domain.settings import ModelSettings

ERROR_BODY_SECONDS = 5.0
LAST_CHUNK_SECONDS = 0.2  # after [DONE], for the end of the body, so that the connection can be kept
_FINISH = {"tool_calls": Finish.TOOL_CALLS, "length": Finish.LENGTH, "content_filter": Finish.REFUSED}


class ChatCompletions:
    """A model behind an OpenAI-compatible server. The argument `name` is its name in the settings, for hints."""

    def __init__(self, settings: ModelSettings, api_key: str, name: str) -> None:
        self.name = settings.model
        self._key = api_key.strip()
        self._failures = _Failures(f"models.{name}", self._key, settings.api_key_env)
        self._client = HttpClient(settings.base_url, settings.timeout, f"models.{name}")

    async def close(self) -> None:
        await self._client.close()

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        """Stream one reply: text and thinking as they come, then each call, then the end."""
        reply = _Reply(request, self._failures)
        async with self._client.post("/chat/completions", self._headers(), _body(request, self.name)) as response:
            if not 200 <= response.status < 300:
                body = await response.rest(ERROR_BODY_SECONDS)
                failure = self._failures.of_status(response.status, _message(_decoded(body)), body)
                failure.retry_after = response.retry_after
                raise failure
            async for data in response:
                for part in reply.feed(data):
                    yield part
                if reply.done:
                    await response.rest(LAST_CHUNK_SECONDS)
                    break
        for part in reply.end():
            yield part

    def _headers(self) -> dict[str, str]:
        if not (self._key.isascii() and self._key.isprintable()):
            raise self._failures.of_key("the key holds characters that no key has")
        own = {"content-type": "application/json", "user-agent": f"quintet/{__version__}"}
        return {**own, "authorization": f"Bearer {self._key}"} if self._key else own


class _Failures:
    """Errors in the user's terms. A server's words go in without the key or anything that a terminal would obey."""

    def __init__(self, setting: str, key: str, key_env: str) -> None:
        self.setting = setting
        self.key = key
        self.key_env = key_env

    def of_status(self, status: int, message: str, body: bytes = b"") -> errors.ModelError:
        """What a status means; 0 stands for an error without one."""
        said = self._words(message)[:1000] or self._words(body.decode("utf-8", "replace"))[:200]
        text = f"the model server answered HTTP {status}" if status else "the model server reported an error"
        text += f": {said}" if said else ""
        if status in (401, 403):
            return self.of_key(text)
        if status == 429:
            return errors.ModelRateLimited(text, hint="wait, or choose another model")
        if status in (408, 504):
            return errors.ModelTimeout(text, hint="try again later")
        misplaced = 300 <= status < 400 or status in (404, 405)
        hint = f"check {self.setting}.base_url and {self.setting}.model" if misplaced else ""
        return errors.ModelHttpError(text, hint=hint, status=status)

    def of_key(self, text: str) -> errors.ModelAuthFailed:
        hint = f"name the environment variable that holds the key in {self.setting}.api_key_env"
        return errors.ModelAuthFailed(text, hint=f"check the key in {self.key_env}" if self.key_env else hint)

    def of_reply(self, text: str, sample: bytes = b"", *, again: bool) -> errors.ModelBadResponse:
        begins = self._words(sample.decode("utf-8", "replace"))[:60]
        hint = "try again" if again else f"check {self.setting}.base_url and the server"
        error = errors.ModelBadResponse(f"{text}; it begins {begins!r}" if begins else text, hint=hint)
        error.retryable = again
        return error

    def _words(self, text: str) -> str:
        hidden = text.replace(self.key, "***") if len(self.key) > 3 else text
        return " ".join("".join(c if c.isprintable() else " " for c in hidden).split())


class _Call(msgspec.Struct):
    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = msgspec.field(default_factory=list)


class _Reply:
    """Bytes of an answer in, parts out, the same for any cut of the bytes."""

    def __init__(self, request: Request, failures: _Failures) -> None:
        self.done = False
        self._failures = failures
        self._step = len(request.messages)
        self._taken = {call.id for message in request.messages for call in message.calls}
        self._events = ServerEvents()
        self._plain = bytearray()  # an answer in one piece of JSON, from a server that does not stream
        self._sample = b""
        self._begun = False
        self._finish = ""
        self._usage = messages.Usage()
        self._calls: list[_Call] = []
        self._open: dict[int, _Call] = {}  # by index, the call that fragments go to

    def feed(self, data: bytes) -> Iterator[Part]:
        self._sample = self._sample if len(self._sample) > 4000 else (self._sample + data).lstrip()
        if self._sample[:1] in (b"{", b"["):  # no line of an event stream begins so
            self._plain += data
            if len(self._plain) > MAX_EVENT_BYTES:
                raise self._failures.of_reply("the model server's answer is too long", again=False)
            return
        for event in self._events.feed(data):
            if event.strip() == b"[DONE]":
                self.done = True
            elif event and not self.done:
                yield from self._take(_decoded(event))

    def end(self) -> Iterator[Part]:
        """The last parts, once the body has ended."""
        yield from self.feed(b"\n\n")  # servers forget the last blank line
        if self._plain:
            yield from self._take(_decoded(self._plain))
        if not self._begun:
            again = not self._plain and self._sample[:1] != b"<"  # cut rather than wrong
            raise self._failures.of_reply("the model server's answer holds no reply", self._sample, again=again)
        if not (self.done or self._finish or self._plain) or self._finish == "error":
            raise self._failures.of_reply("the model's reply broke off", again=True)
        finish = _FINISH.get(self._finish, Finish.TOOL_CALLS if self._calls else Finish.STOP)
        if finish is not Finish.REFUSED:  # what a filter has cut down is not to be acted on
            yield from self._whole_calls("{}" if finish is Finish.TOOL_CALLS else "")
        yield messages.EndPart(finish, self._usage)

    def _take(self, chunk: Any) -> Iterator[Part]:
        if not isinstance(chunk, dict):
            raise self._failures.of_reply("the model server's answer is not the JSON of a reply", again=True)
        choices = chunk.get("choices")
        choice = _dict(choices[0]) if isinstance(choices, list) and choices else {}
        if error := chunk.get("error") or choice.get("error"):
            code = _dict(error).get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 0
            failure = self._failures.of_status(status, _message(error))
            failure.retryable |= _dict(error).get("type") in ("server_error", "overloaded_error")
            raise failure
        if usage := _dict(chunk.get("usage")):
            cached = _dict(usage.get("prompt_tokens_details")).get("cached_tokens")
            counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
            self._usage = messages.Usage(*(count if isinstance(count, int) and count > 0 else 0 for count in counts))
        delta = _dict(choice.get("delta", choice.get("message")))
        self._finish = _text(choice.get("finish_reason")) or self._finish
        self._begun = self._begun or bool(delta or self._finish)
        if thinking := _text(delta.get("reasoning_content")) or _text(delta.get("reasoning")):
            yield messages.ThinkingPart(thinking)
        if text := _text(delta.get("content")):
            yield messages.TextPart(text)
        fragments = delta.get("tool_calls")
        for position, fragment in enumerate(fragments if isinstance(fragments, list) else ()):
            self._take_fragment(_dict(fragment), position)

    def _take_fragment(self, fragment: dict[str, Any], position: int) -> None:
        function = _dict(fragment.get("function"))
        identity, name, arguments = _text(fragment.get("id")), _text(function.get("name")), function.get("arguments")
        text = msgspec.json.encode(arguments).decode() if isinstance(arguments, dict) else _text(arguments)
        index = fragment.get("index")
        index = index if isinstance(index, int) else position
        call = self._open.get(index)
        if call is None or (name and _is_over(call, identity, text)):
            call = self._open[index] = _Call(index)
            self._calls.append(call)
        call.id = call.id or identity
        call.name = call.name or name
        call.arguments.append(text)

    def _whole_calls(self, empty: str) -> Iterator[Part]:
        """The calls in order. `empty` stands for no arguments; a call cut at the length limit is not to look whole."""
        for position, call in enumerate(sorted(self._calls, key=lambda call: call.index)):
            if not call.name:
                raise self._failures.of_reply("the model called a tool without naming it", again=True)
            identity = call.id
            if not identity or identity in self._taken:
                identity = f"call_{self._step}_{position}"
                while identity in self._taken:
                    identity += "_"
            self._taken.add(identity)
            yield messages.CallPart(messages.ToolCall(identity, call.name, "".join(call.arguments) or empty))


def _is_over(call: _Call, identity: str, text: str) -> bool:
    """Whether a fragment with a name begins another call at the same index: some servers number all their calls 0."""
    if call.id and identity:
        return call.id != identity
    return bool(text) and isinstance(_decoded("".join(call.arguments)), dict)


def _body(request: Request, name: str) -> bytes:
    body = {**request.options, "model": request.model or name, "stream": True}
    body["stream_options"] = {"include_usage": True}
    body["messages"] = [_sent(message) for message in request.messages]
    if request.tools:
        body["tools"] = [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in request.tools]
    return msgspec.json.encode(body)


def _sent(message: messages.Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": _sendable(message.text)}
    if message.call_id:
        sent["tool_call_id"] = message.call_id
    if message.calls:
        sent["content"] = sent["content"] or None
        called = [(call.id, {"name": call.name, "arguments": _object(call.arguments)}) for call in message.calls]
        sent["tool_calls"] = [{"id": id_, "type": "function", "function": function} for id_, function in called]
    return sent


def _object(arguments: str) -> str:
    """Arguments that servers bear: after one call whose arguments are not a JSON object some refuse every request."""
    text = _sendable(arguments)
    return text if isinstance(_decoded(text), dict) else msgspec.json.encode({"invalid": text}).decode()


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # file names and cut texts may hold half a character


def _decoded(data: bytes | bytearray | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _message(value: Any) -> str:
    """The words in an error's JSON, wherever this server puts them."""
    if isinstance(value, list):
        return _message(value[0]) if value else ""
    if isinstance(value, dict):
        return next((found for key in ("error", "message", "detail") if (found := _message(value.get(key)))), "")
    return _text(value)
