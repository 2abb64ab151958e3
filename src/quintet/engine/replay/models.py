"""Models recorded and replayed: what they were asked as digests, and their replies part by part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import cast

from quintet.domain.journal.recording import Digests, RequestDigest, part_of
from quintet.domain.ports.ports import Model, is_staged
from quintet.domain.turn.messages import (
    CallBegunPart,
    CallPart,
    EndPart,
    OriginalPart,
    Part,
    Request,
    TextPart,
    ThinkingPart,
)
from quintet.engine.replay.player import REPLY, Player, given
from quintet.engine.replay.recorder import Recorder

OVER = "reply.over"


class RecordedModels:
    def __init__(self, make: Callable[[str], Model], recorder: Recorder) -> None:
        self._make = make
        self._recorder = recorder
        self._made: dict[str, RecordedModel] = {}

    def get(self, name: str) -> Model:
        if name not in self._made:
            try:
                made = RecordedModel(self._make(name), self._recorder)
            except Exception as error:
                self._recorder.add(f"model.{name}", error=error)
                raise
            self._recorder.add(f"model.{name}", [made.name, made.staged])
            self._made[name] = made
        return self._made[name]


class RecordedModel:
    def __init__(self, model: Model, recorder: Recorder) -> None:
        self.name = model.name
        self.staged = is_staged(model)
        self._model = model
        self._recorder = recorder
        self._digests = Digests()

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        recorder = self._recorder
        recorder.add("ask", self._digests.asked(request))
        latest = -1  # what comes in right after another part of the reply has nothing to wait for
        try:
            async with aclosing(cast(AsyncGenerator[Part, None], self._model.stream(request))) as parts:
                async for part in parts:
                    if isinstance(part, CallBegunPart):  # for the eye: no event comes of it
                        yield part
                        continue
                    if recorder.count != latest:
                        await recorder.settled()
                    self._write(part)
                    latest = recorder.count
                    yield part
            if recorder.count != latest:
                await recorder.settled()
            recorder.add(OVER)
        except (Exception, asyncio.CancelledError) as error:
            await recorder.come_in_at_last(OVER, error)
            raise

    def _write(self, part: Part) -> None:
        recorder = self._recorder
        match part:
            case TextPart(text):
                recorder.text("reply.text", text)
            case ThinkingPart(text):
                recorder.text("reply.thinking", text)
            case CallPart(call):
                recorder.add("reply.call", call)
            case OriginalPart(original):
                recorder.add("reply.original", original)
            case EndPart():
                recorder.add("reply.end", part)

    async def close(self) -> None:
        await self._model.close()


OnRequest = Callable[[RequestDigest | None, RequestDigest], None]  # what was asked then, and what is asked now


class ReplayedModels:
    """Models that answer as they did."""

    def __init__(self, player: Player, on_request: OnRequest) -> None:
        self._player = player
        self._on_request = on_request
        self._made: dict[str, PlayedModel] = {}

    def get(self, name: str) -> Model:
        if name not in self._made:
            entry = self._player.take(f"model.{name}")
            wire, staged = given(entry, tuple[str, bool]) if entry else (name, True)
            self._made[name] = PlayedModel(wire, staged, self._player, self._on_request)
        return self._made[name]


class PlayedModel:
    def __init__(self, name: str, staged: bool, player: Player, on_request: OnRequest) -> None:
        self.name = name
        self.staged = staged
        self._player = player
        self._on_request = on_request
        self._digests = Digests()

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        then = self._player.take("ask")
        self._on_request(given(then, RequestDigest) if then else None, self._digests.asked(request))
        while True:
            entry = await self._player.wait(REPLY)
            if entry.kind == OVER:
                given(entry, None)
                return
            yield part_of(entry)

    async def close(self) -> None:
        """Nothing is held open."""
