"""What every model behind HTTP shares: one POST, an answer streamed as server-sent events, parts out.

A reply has its EndPart only if its terminal marker arrived, or a whole JSON answer. Anything else is a ModelError,
retryable where a second try may cure it. Every call id handed on is new to the conversation, whatever the server sent.
A wire adds its path, its headers, the body of a request and the reading of a reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from quintet import __version__
from quintet.adapters.files.loose_json import as_text, decoded, decoded_leniently
from quintet.adapters.http import server_events
from quintet.adapters.http.client import HttpClient, Response
from quintet.adapters.models.errors import Failures
from quintet.adapters.models.keys import Key
from quintet.domain.base.errors import ModelAuthFailed, ModelError
from quintet.domain.base.half_characters import CharacterStream, whole_characters
from quintet.domain.models.model_facts import facts_of
from quintet.domain.models.pictures import in_words
from quintet.domain.models.reply_bounds import ReplyBounds
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import (
    CallPart,
    Effort,
    EndPart,
    Message,
    Part,
    Request,
    TextPart,
    ThinkingPart,
    Usage,
)

ERROR_BODY_SECONDS = 5.0
LAST_CHUNK_SECONDS = 0.2  # after the terminal marker, for the end of the body, so that the connection can be kept
MOST_NAME = 200  # characters of what a server calls a model or a reply
SPARE = 64  # messages kept beyond those in use before the old ones are looked for
Made = TypeVar("Made")


class HttpModel(ABC):
    """A model behind a server. The argument `name` is its name in the settings, for hints."""

    path = ""

    def __init__(self, settings: ModelSettings, api_key: Key | str, name: str) -> None:
        self.name = settings.model
        self.facts = facts_of(settings)
        self._settings = settings
        self._host = (urlsplit(settings.base_url).hostname or "").lower()
        self._source = api_key if isinstance(api_key, Key) else None
        self._key = "" if isinstance(api_key, Key) else api_key.strip()
        by_command = isinstance(api_key, Key) and api_key.by_command
        variable = "" if by_command else settings.api_key_env
        self._failures = Failures(f"models.{name}", self._key, variable, by_command=by_command)
        self._client = HttpClient(settings.base_url, settings.timeout, f"models.{name}")
        self._told = MessageCache(lambda message: in_words(message, settings.model))

    async def close(self) -> None:
        await self._client.close()

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        """Stream one reply: text and thinking as they come, then each call, then the end."""
        request = self._seen(request)
        reply = self._reply(request)
        body = msgspec.json.encode(merged(self._body(request), self._settings.body))
        path = self._path(request)
        if self._settings.query:
            path += ("&" if "?" in path else "?") + urlencode(self._settings.query)
        for last in (False, True):
            await self._find_key()
            async with self._client.post(path, self._headers(), body) as response:
                failure = await self._refusal(response)
                if failure is None:
                    async for data in response:
                        for part in reply.feed(data):
                            yield part
                        if reply.done:
                            await response.rest(LAST_CHUNK_SECONDS)
                            break
                    break
            if last or not isinstance(failure, ModelAuthFailed) or not self._another_key():
                raise failure
        for part in reply.end():
            yield part

    async def _refusal(self, response: Response) -> ModelError | None:
        if 200 <= response.status < 300:
            return None
        said = await response.rest(ERROR_BODY_SECONDS)
        failure = self._failures.of_status(response.status, decoded(said), said)
        waits = [wait for wait in (response.retry_after, failure.retry_after) if wait is not None]
        failure.retry_after = waits[0] if waits else None
        return failure

    def _seen(self, request: Request) -> Request:
        """The request as this model can see it. Unless it is known to be blind it gets pictures."""
        if self.facts.vision is not False or not any(message.images for message in request.messages):
            return request
        told = tuple(self._told(message) for message in request.messages)
        self._told.keep_to(request.messages)
        return msgspec.structs.replace(request, messages=told)

    def _effort(self, request: Request) -> Effort:
        """How hard to think: as the request says, else the settings; nothing where the model is known to have none."""
        return "" if self.facts.efforts == () else request.effort or self._settings.effort

    def _allowed(self, request: Request) -> tuple[str, ...] | None:
        """The tools that may be called, where this API can be told; None says nothing of them."""
        if request.allowed is None or not self.facts.allowed_tools:
            return None
        return tuple(tool.name for tool in request.tools if tool.name in request.allowed)

    async def _find_key(self) -> None:
        if self._source:
            self._key = await self._source.value()
            self._failures.key = self._key

    def _source_is_command(self) -> bool:
        return self._source is not None and self._source.by_command

    def _another_key(self) -> bool:
        return self._source is not None and self._source.refused(self._key)

    def _headers(self) -> dict[str, str]:
        if not (self._key.isascii() and self._key.isprintable()):
            raise self._failures.of_key("the key contains invalid characters")
        own = {"content-type": "application/json", "user-agent": f"quintet/{__version__}"}
        more = {name.lower(): value for name, value in self._settings.headers.items()}
        return {**own, **self._own_headers(), **more}

    def _path(self, request: Request) -> str:
        return self.path

    @abstractmethod
    def _own_headers(self) -> dict[str, str]:
        """The headers that carry the key, as this wire wants them."""

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """The request as this wire spells it."""

    @abstractmethod
    def _reply(self, request: Request) -> StreamedReply:
        """What reads this wire's answers."""


def merged(body: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A body with the user's own fields in it; tables are put together, anything else takes its place."""
    found = dict(body)
    for name, value in more.items():
        there = found.get(name)
        found[name] = merged(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
    return found


class StreamedReply(ABC):
    """Bytes of an answer in, parts out, the same for any cut of the bytes."""

    def __init__(self, request: Request, failures: Failures) -> None:
        self.done = False  # the terminal marker has come
        self.failures = failures
        self.begun = False
        self.finish = ""  # how the reply ended, in the server's word
        self.usage = Usage()
        self.cache_writes = 0
        self._model = self._id = ""
        self._step = len(request.messages)
        self._taken = {call.id for message in request.messages for call in message.calls}
        self._events = server_events.ServerEvents()
        self._plain = bytearray()  # an answer in one piece of JSON, from a server that does not stream
        self._sample = b""
        self._text, self._thinking = CharacterStream(), CharacterStream()
        self.bounds = ReplyBounds()  # of what is kept until the end: calls, and all bytes

    def feed(self, data: bytes) -> Iterator[Part]:
        self.bounds.add("bytes", len(data))
        self._sample = self._sample if len(self._sample) > 4000 else (self._sample + data).lstrip()
        if self._sample[:1] in (b"{", b"["):  # no line of an event stream begins so
            self._plain += data
            if len(self._plain) > server_events.MAX_EVENT_BYTES:
                raise self.failures.of_reply("the model server's answer is too long", again=False)
            return
        for event in self._events.feed(data):
            if event.strip() == b"[DONE]":
                self.done = True
            elif event and not self.done:
                yield from self._taken_from(decoded_leniently(event))

    def end(self) -> Iterator[Part]:
        """The last parts, once the body has ended."""
        yield from self.feed(b"\n\n")  # servers forget the last blank line
        if self._plain:
            yield from self._taken_from(decoded_leniently(self._plain))
        if not self.begun:
            again = not self._plain and self._sample[:1] != b"<"  # cut rather than wrong
            raise self.failures.of_reply("the model server's answer contains no reply", self._sample, again=again)
        if not (self.done or self.finish or self._plain) or self.finish == "error":
            raise self.failures.of_reply("the model's reply is incomplete", again=True)
        yield from self._in_characters(self.last())

    @abstractmethod
    def take(self, chunk: dict[str, Any]) -> Iterator[Part]:
        """The parts in one event, or in a whole answer."""

    @abstractmethod
    def last(self) -> Iterator[Part]:
        """The calls and the end."""

    def served(self, model: Any, id: Any) -> None:
        """What the server calls the model that answers, and the reply; its first word counts."""
        self._model = self._model or whole_characters(as_text(model))[:MOST_NAME]
        self._id = self._id or whole_characters(as_text(id))[:MOST_NAME]

    def fresh_id(self, sent: str, position: int) -> str:
        """The id of a call, `sent` if no other call of the conversation has it."""
        identity = sent
        if not identity or identity in self._taken:
            identity = f"call_{self._step}_{position}"
            while identity in self._taken:
                identity += "_"
        self._taken.add(identity)
        return identity

    def _taken_from(self, chunk: Any) -> Iterator[Part]:
        if not isinstance(chunk, dict):
            raise self.failures.of_reply("the model server's answer is not a reply in JSON", again=True)
        yield from self._in_characters(self.take(chunk))

    def _in_characters(self, parts: Iterator[Part]) -> Iterator[Part]:
        """The parts with whole characters: a server may send one in two halves, or only a half."""
        for part in parts:
            match part:
                case TextPart(text):
                    if said := self._text.feed(text):
                        yield TextPart(said)
                case ThinkingPart(text):
                    if said := self._thinking.feed(text):
                        yield ThinkingPart(said)
                case CallPart(call):
                    arguments = whole_characters(call.arguments)
                    yield (
                        CallPart(msgspec.structs.replace(call, arguments=arguments))
                        if arguments != call.arguments
                        else part
                    )
                case EndPart():
                    if said := self._thinking.rest():
                        yield ThinkingPart(said)
                    if said := self._text.rest():
                        yield TextPart(said)
                    yield msgspec.structs.replace(part, model=self._model, id=self._id)
                case _:
                    yield part


class MessageCache(Generic[Made]):
    """The messages of a conversation in a wire's own spelling, each made once.

    A request holds the whole conversation; only its newest messages are new. A message is known by its identity, so
    one that was replaced is made anew, and what the conversation has dropped is let go of.
    """

    def __init__(self, write: Callable[[Message], Made]) -> None:
        self._write = write
        self._made: dict[int, tuple[Message, Made]] = {}

    def __call__(self, message: Message) -> Made:
        known = self._made.get(id(message))
        if known is None:  # the message is kept beside what was made of it, so its identity is nobody else's
            known = self._made[id(message)] = message, self._write(message)
        return known[1]

    def keep_to(self, conversation: Sequence[Message]) -> None:
        if len(self._made) > len(conversation) + SPARE:
            in_use = {id(message) for message in conversation}
            self._made = {key: made for key, made in self._made.items() if key in in_use}
