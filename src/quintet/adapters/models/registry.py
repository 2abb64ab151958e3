"""Models by their name in the settings, made when first asked; the routing table's; and models that hear no secret."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from importlib import import_module
from itertools import takewhile
from typing import Any

from msgspec import structs

from quintet.adapters.models import ollama
from quintet.adapters.models.discovery import cli_line, connect_line, found_here
from quintet.adapters.models.keys import Key
from quintet.domain.base.errors import ModelError, SettingsError, ToolFailed
from quintet.domain.base.redaction import Redactor
from quintet.domain.base.retry import LONGEST_RETRY, model_wait
from quintet.domain.models.model_facts import resolved_model
from quintet.domain.models.presets import direct_model
from quintet.domain.ports.ports import Model, is_staged
from quintet.domain.settings.settings import REPLAYED, ModelSettings, Settings
from quintet.domain.turn.messages import (
    CallBegunPart,
    EndPart,
    Finish,
    Image,
    Message,
    Part,
    Request,
    Role,
    TextPart,
    ThinkingPart,
    Usage,
)
from quintet.domain.turn.tool_spec import Advice, Consulted, Purpose, Route

# The adapters that speak to configured models, by their wire.
WIRES = {
    "openai": "models.chat_completions:ChatCompletions",
    "anthropic": "models.anthropic:AnthropicMessages",
    "responses": "models.responses:Responses",
    "gemini": "models.gemini:GenerateContent",
    "pydantic-ai": "models.pydantic_ai:OtherProvider",
}
INSTALL = "quintet install providers"
PIECE = 200  # characters of an answer between two words about it
NO_MODEL = (
    "no language model is configured for {route}: `quintet models` shows what you can use, and "
    "`quintet models use NAME` connects it; routing.{route} in your settings names the model"
)


class Models:
    """Models by their name in the settings, made when first used; `learn` is told of keys that commands print."""

    def __init__(self, settings: Settings, learn: Callable[[str], None] = lambda secret: None) -> None:
        self._settings = settings
        self._learn = learn
        self._made: dict[str, Model] = {}

    def get(self, name: str) -> Model:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    async def close(self) -> None:
        for model in self._made.values():
            await model.close()

    def _make(self, name: str) -> Model:
        if name == "builtin":
            return _made(
                "offline_rules.model:OfflineRules", found_here, connect_line, cli_line, tuple(self._settings.models)
            )
        if name.startswith(REPLAYED):
            return _made("models.replayed:ReplayedModel", name.removeprefix(REPLAYED))
        configured = self._settings.models.get(name) or direct_settings(name)
        if configured is None:
            raise SettingsError(
                f'there is no model named "{name}"',
                hint="`quintet models` lists them; /model NAME or /model auto changes it.",
            )
        return _of_wire(configured, Key(configured, name, self._learn), name)


def direct_settings(name: str) -> ModelSettings | None:
    """Of a model that is named as PRESET/MODEL in the place of a configured one; None if it is no such name."""
    table = direct_model(name, os.environ)
    if table is None:
        return None
    told = ollama.model_facts(table["base_url"], table["model"]).table if ollama.is_usual(table["base_url"]) else {}
    return resolved_model(ModelSettings(**{"base_url": "", **table, **told}))


def make_model(configured: ModelSettings, key: str, name: str) -> Model:
    """A model of a server, with this key; `name` is what hints call it."""
    return _of_wire(configured, Key(configured, name, given=key), name)


def _of_wire(configured: ModelSettings, key: Key, name: str) -> Model:
    try:
        return _made(WIRES[configured.wire], configured, key, name)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"models.{name}.wire is pydantic-ai, which is not installed",
            hint=f"{INSTALL}, or choose another protocol (wire)",
        ) from error


def _made(place: str, *arguments: Any) -> Model:
    """A model of the class that `module:name` names; its module is imported when its first model is made."""
    module, _, name = place.partition(":")
    model: Model = getattr(import_module(f"quintet.adapters.{module}"), name)(*arguments)
    return model


class RoutedModels:
    """The models of the routing table, asked one question at a time; `page` gives what one is told for a purpose."""

    def __init__(self, get: Callable[[str], Model], settings: Settings, page: Callable[[str], str]) -> None:
        self._get = get
        self._settings = settings
        self._page = page

    def ready(self, route: Route) -> bool:
        try:
            return is_staged(self._get(self._settings.routing.model(route)))
        except SettingsError:
            return False

    async def ask(
        self,
        purpose: Purpose,
        route: Route,
        question: str,
        images: Sequence[Image] = (),
        tell: Callable[[str], None] = lambda text: None,
    ) -> Advice:
        name = self._settings.routing.model(route)
        try:
            model = self._get(name)
        except SettingsError as error:
            raise ToolFailed(error.message, hint=error.hint) from None
        if not is_staged(model):
            raise ToolFailed(NO_MODEL.format(route=route))
        told = (Message(Role.SYSTEM, self._page(f"advice/{purpose}.md")), _asked(question, images))
        request = Request(model.name, told)
        attempt, waited, limits = 1, 0.0, self._settings.limits
        while True:
            try:
                text, finish, usage = await _answer(model, request, tell)
                return Advice(text, finish, Consulted(route, name, usage))
            except ModelError as error:
                wait = model_wait(error, attempt, limits.retries, seconds=limits.retry_seconds, waited=waited)
                if wait is None:
                    raise ToolFailed(f"{name} did not answer: {error.message}", hint=error.hint) from error
                wait = min(wait, LONGEST_RETRY)
                tell(f"{error.message}; retrying in {wait:.0f} s")
                await asyncio.sleep(wait)
                attempt, waited = attempt + 1, waited + wait


def _asked(question: str, images: Sequence[Image]) -> Message:
    return Message(Role.USER, question, images=tuple(images))


async def _answer(model: Model, request: Request, tell: Callable[[str], None]) -> tuple[str, Finish, Usage]:
    pieces: list[str] = []
    length = told = 0
    finish, usage = Finish.STOP, Usage()
    async for part in model.stream(request):
        if isinstance(part, TextPart):
            pieces.append(part.text)
            length += len(part.text)
            if length - told >= PIECE:
                told = length
                tell(f"{length} characters so far")
        elif isinstance(part, EndPart):
            finish, usage = part.finish, part.usage
    return "".join(pieces).strip(), finish, usage


class RedactedModel:
    """A model that gets no secret, and whose words hold none: also not one that comes in pieces."""

    def __init__(self, model: Model, redactor: Redactor) -> None:
        self.name = model.name
        self._model = model
        self._redactor = redactor
        self._known: Redactor | None = None  # what the messages were cleaned by
        self._given: tuple[Message, ...] = ()
        self._cleaned: tuple[Message, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        self._redactor.fresh()
        known = self._redactor.known
        text, thinking = known.texts(), known.texts()
        async with aclosing(self._model.stream(self._clean(request, known))) as parts:  # type: ignore[type-var]
            async for part in parts:
                if isinstance(part, TextPart):
                    if said := text.feed(part.text):
                        yield TextPart(said)
                elif isinstance(part, ThinkingPart):
                    if said := thinking.feed(part.text):
                        yield ThinkingPart(said)
                elif isinstance(part, CallBegunPart):
                    yield self._redactor.clean(part)
                else:
                    if said := thinking.rest():
                        yield ThinkingPart(said)
                    if said := text.rest():
                        yield TextPart(said)
                    yield self._redactor.clean(part)

    def _clean(self, request: Request, known: Redactor) -> Request:
        """A conversation grows at its end: what was looked through for these secrets is not looked through again."""
        given, before = request.messages, self._given if known is self._known else ()
        alike = takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], zip(given, before, strict=False))
        same = sum(1 for _ in alike)
        cleaned = (*self._cleaned[:same], *map(known.clean, given[same:]))
        self._known, self._given, self._cleaned = known, given, cleaned
        return structs.replace(known.clean(structs.replace(request, messages=())), messages=cleaned)

    async def close(self) -> None:
        await self._model.close()
