"""A model that is told no secret, and whose words hold none: also not one that comes in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from quintet.domain.messages import Part, Request, TextPart, ThinkingPart
from quintet.domain.ports import Model
from quintet.domain.redaction import Redactor


class RedactedModel:
    def __init__(self, model: Model, redactor: Redactor) -> None:
        self.name = model.name
        self._model = model
        self._redactor = redactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        text, thinking = self._redactor.texts(), self._redactor.texts()
        async with aclosing(self._model.stream(self._redactor.clean(request))) as parts:  # type: ignore[type-var]
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

    async def close(self) -> None:
        await self._model.close()
