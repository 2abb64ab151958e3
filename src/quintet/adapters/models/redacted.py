"""A model that is told no secret, and whose words hold none: also not one that comes in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import takewhile
from typing import Any

from msgspec import structs

from quintet.domain.base.redaction import Redactor
from quintet.domain.ports.ports import Model
from quintet.domain.turn.messages import Message, Part, Request, TextPart, ThinkingPart


class RedactedModel:
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
