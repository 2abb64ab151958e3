"""Every other provider, through pydantic-ai: the extra `providers`. Importing this imports it.

`model` is what pydantic-ai calls it ("google:gemini-…"). Without `api_key_env` its provider looks for a key in the
variable it knows. A reply with thinking or signatures is kept as it came, for the provider that wants it back.

Whatever these packages raise comes out as an error of the model's, and what they warn of is not printed: it is about
their code and not about yours. A reply without the word that it is over was cut.
"""

from __future__ import annotations

import binascii
import logging
import warnings
from collections.abc import AsyncIterator, Iterable, Iterator
from importlib import import_module
from typing import Any

import msgspec
from pydantic_ai import messages as theirs
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)
from pydantic_ai.models import ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.tools import ToolDefinition

from quintet.adapters.files.loose_json import as_object, as_text, sendable
from quintet.adapters.models.errors import Failures
from quintet.adapters.models.http_model import MOST_NAME
from quintet.adapters.models.keys import Key
from quintet.domain.base import errors
from quintet.domain.models.model_facts import facts_of
from quintet.domain.models.pictures import in_words
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn import messages
from quintet.domain.turn.messages import Finish, Message, Part, Request, Role

PACKAGES = ("pydantic_ai", "google_genai", "google", "mistralai", "cohere", "botocore", "boto3", "urllib3", "httpx")
_FINISH = {"tool_call": Finish.TOOL_CALLS, "length": Finish.LENGTH, "content_filter": Finish.REFUSED}


for _package in PACKAGES:
    warnings.filterwarnings("ignore", module=rf"{_package}(\.|$)")
    logging.getLogger(_package).addHandler(logging.NullHandler())  # else Python prints what nobody listens to


class OtherProvider:
    """A model that pydantic-ai knows how to reach. The argument `name` is its name in the settings, for hints.

    Raises SettingsError where the provider's own package or a key is missing, or the name is unknown.
    """

    def __init__(self, settings: ModelSettings, api_key: Key, name: str) -> None:
        self.name = settings.model
        self.facts = facts_of(settings)
        self._settings = settings
        self._source = api_key
        self._setting = f"models.{name}"
        self._failures = Failures(self._setting, api_key.at_hand, settings.api_key_env)
        self._model = None if api_key.by_command else self._found(api_key.at_hand)

    async def close(self) -> None:
        """pydantic-ai shares its clients among models and closes them itself."""

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        if self._model is None:
            self._failures.key = await self._source.value()
            self._model = self._found(self._failures.key)
        blind = self.facts.vision is False
        told = [in_words(message, self.name) if blind else message for message in request.messages]
        sent = _conversation(told, self._origin)
        options, parameters = self._options(request), _parameters(request)
        try:
            async with model_request_stream(
                self._model, sent, model_settings=options, model_request_parameters=parameters
            ) as stream:
                async for event in stream:
                    for part in _streamed(event):
                        yield part
                response = stream.get()
        except ModelAPIError as error:
            raise self._failed(error) from error
        except UnexpectedModelBehavior as error:
            raise self._failures.of_reply(str(error), again=True) from error
        except Exception as error:  # of the provider's own packages, which have many: no key, no region, a bad schema
            raise self._failures.of_package(error) from error
        if response.finish_reason is None and not (response.provider_details or {}).get("finish_reason"):
            raise self._failures.of_reply("the model's reply is incomplete", again=True)
        kept = theirs.ModelMessagesTypeAdapter.dump_json([response]).decode()
        for part in _last(response, messages.Original(self._origin, kept)):
            yield part

    @property
    def _origin(self) -> str:
        return f"pydantic-ai:{self.name}"

    def _found(self, key: str) -> Any:
        given: dict[str, Any] = {"api_key": key, "base_url": self._settings.base_url}
        given = {name: value for name, value in given.items() if value}
        try:
            return infer_model(self.name, lambda name: self._provider(name, given))
        except Exception as error:  # pydantic-ai and the provider's package say which name, key or region is wrong
            raise errors.SettingsError(f"{self._setting}: {error}", hint="correct it in your settings") from error

    def _provider(self, name: str, given: dict[str, Any]) -> Any:
        if name == "bedrock" and self._settings.timeout:  # its client takes the limit, and not a request
            given = {**given, "aws_read_timeout": self._settings.timeout}
        if name == "cohere" and "base_url" in given:
            given = {"cohere_client": import_module("cohere").AsyncClientV2(**given)}
        return infer_provider_class(name)(**given)

    def _options(self, request: Request) -> Any:
        by_client = self.name.startswith("bedrock:")
        wanted = {
            **request.options,
            "timeout": None if by_client else self._settings.timeout or None,
            "max_retries": 0,  # trying again is the engine's, who says so and counts
            "max_tokens": self._settings.max_tokens or None,
            "temperature": self._settings.temperature,
            "thinking": request.effort or self._settings.effort or None,
            "extra_headers": self._settings.headers or None,
            "extra_body": self._settings.body or None,
            "stop_sequences": list(request.stop) or None,
            "tool_choice": "none" if request.tools and request.tool_choice == "none" else None,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def _failed(self, error: Any) -> errors.ModelError:
        if isinstance(error, ModelTimeoutError):
            return errors.ModelTimeout(str(error), hint=f"try again, or raise {self._setting}.timeout")
        if isinstance(error, ModelConnectionError):
            return errors.ModelUnreachable(str(error), hint="check the network and the proxy variables")
        status = getattr(error, "status_code", 0)
        if not status:  # the package could not read what came
            return self._failures.of_reply(self._failures.words(str(error))[:300], again=True)
        failure = self._failures.of_status(status, error.body, str(error).encode())
        failure.retry_after = error.retry_after
        return failure


def _parameters(request: Request) -> Any:
    tools = [
        ToolDefinition(name=tool.name, parameters_json_schema=tool.parameters, description=tool.description)
        for tool in request.tools
    ]
    if not request.json_schema:
        return ModelRequestParameters(function_tools=tools)
    wanted = OutputObjectDefinition(json_schema=request.json_schema, name="reply")
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)


def _conversation(conversation: Iterable[Message], origin: str) -> list[Any]:
    sent: list[Any] = []
    names: dict[str, str] = {}
    for message in conversation:
        names |= {call.id: call.name for call in message.calls}
        if message.role is Role.ASSISTANT:
            if message.original and message.original.origin == origin:
                sent += theirs.ModelMessagesTypeAdapter.validate_json(message.original.data)
                continue
            text = [theirs.TextPart(sendable(message.text))] if message.text else []
            calls = [theirs.ToolCallPart(call.name, as_object(call.arguments), call.id) for call in message.calls]
            sent.append(theirs.ModelResponse([*text, *calls]))
            continue
        if not sent or isinstance(sent[-1], theirs.ModelResponse):
            sent.append(theirs.ModelRequest([]))
        sent[-1].parts = [*sent[-1].parts, *_said(message, names)]
    return sent


def _said(message: Message, names: dict[str, str]) -> Iterator[Any]:
    text = sendable(message.text)
    shown = [theirs.BinaryContent(binascii.a2b_base64(i.data), media_type=i.media_type) for i in message.images]
    if message.role is Role.SYSTEM:
        yield theirs.SystemPromptPart(text)
    elif message.role is Role.TOOL:
        yield theirs.ToolReturnPart(names.get(message.call_id, "tool"), text, message.call_id)
        if shown:
            yield theirs.UserPromptPart(["Images of this result:", *shown])
    else:
        yield theirs.UserPromptPart([text, *shown] if shown else text)


def _streamed(event: Any) -> Iterator[Part]:
    """Text and thinking as they come; calls are taken from the whole reply."""
    kind = getattr(event, "event_kind", "")
    piece = event.part if kind == "part_start" else event.delta if kind == "part_delta" else None
    text = as_text(getattr(piece, "content" if kind == "part_start" else "content_delta", None))
    named = getattr(piece, "part_kind", "") or getattr(piece, "part_delta_kind", "")
    if text and named == "text":
        yield messages.TextPart(text)
    elif text and named == "thinking":
        yield messages.ThinkingPart(text)


def _last(response: Any, original: messages.Original) -> Iterator[Part]:
    calls = [part for part in response.parts if part.part_kind == "tool-call"]
    finish = _FINISH.get(response.finish_reason, Finish.TOOL_CALLS if calls else Finish.STOP)
    if finish is not Finish.REFUSED:
        for part in calls:
            arguments = part.args if isinstance(part.args, str) else msgspec.json.encode(part.args or {}).decode()
            yield messages.CallPart(messages.ToolCall(part.tool_call_id, part.tool_name, arguments))
        if any(part.part_kind == "thinking" or getattr(part, "provider_details", None) for part in response.parts):
            yield messages.OriginalPart(original)
    usage = response.usage
    counted = messages.Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    named = (response.model_name or "")[:MOST_NAME], (response.provider_response_id or "")[:MOST_NAME]
    yield messages.EndPart(finish, counted, getattr(usage, "cache_write_tokens", 0), *named)
