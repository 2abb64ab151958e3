"""Stand-ins for tests, ours and yours: a scripted model and AI CLIs, a clock that moves only when told, ids that count.

They fill the same ports as the real parts; `quintet.open(..., model=ScriptedModel([...]))` runs the whole engine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from time import gmtime, strftime
from typing import Any, Literal

from quintet.domain.tasks.executors import AI_CLIS, Assignment, Availability, Ended, ExecutorPart
from quintet.domain.turn.messages import CallPart, EndPart, Finish, Part, Request, TextPart, ToolCall, Usage

HANG: Literal["hang"] = "hang"  # in a script of an executor: say nothing more, until it is ended
Script = Sequence[ExecutorPart | Literal["hang"]] | Callable[[Assignment], Sequence[ExecutorPart | Literal["hang"]]]
Reply = str | list[Part] | Exception | Callable[[Request], "Reply"]


def call(name: str, /, call_id: str = "", **arguments: Any) -> CallPart:
    """A tool call a scripted model makes; its id counts up unless given."""
    return CallPart(ToolCall(call_id, name, json.dumps(arguments)))


class ScriptedModel:
    """Answers each request with the next reply: text, parts, an error to raise, or a function of the request."""

    def __init__(self, replies: Sequence[Reply], *, chunk: int = 0, delay: float = 0.0) -> None:
        self.name = "script"
        self.requests: list[Request] = []
        self._replies = list(replies)
        self._chunk = chunk  # characters per text part; 0 sends text whole
        self._delay = delay  # seconds before each part
        self._calls = 0

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        self.requests.append(request)
        reply = self._replies.pop(0) if self._replies else "done"
        while callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        parts: list[Part] = list(self._chunked(reply)) if isinstance(reply, str) else list(reply)
        calls = False
        for part in parts:
            if self._delay:
                await asyncio.sleep(self._delay)
            if isinstance(part, CallPart):
                calls = True
                if not part.call.id:
                    self._calls += 1
                    part = CallPart(ToolCall(f"call-{self._calls}", part.call.name, part.call.arguments))
            elif isinstance(part, EndPart):
                yield part
                return
            yield part
        yield EndPart(Finish.TOOL_CALLS if calls else Finish.STOP, Usage(10, 5))

    def _chunked(self, text: str) -> list[Part]:
        size = self._chunk or max(len(text), 1)
        return [TextPart(text[at : at + size]) for at in range(0, len(text), size)]

    async def close(self) -> None:
        """Nothing is held open."""


class ScriptedExecutors:
    """AI CLIs that say what they are told to: each start takes the next script, parts or a function that makes them."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.starts: list[Assignment] = []
        self._scripts = list(scripts)

    def names(self) -> tuple[str, ...]:
        return AI_CLIS

    async def look(self, name: str) -> Availability:
        if name not in self.names():
            return Availability(name, problem=f'"{name}" is not an executor.')
        return Availability(name, f"/nowhere/{name}", "1.0")

    async def run(self, assignment: Assignment) -> AsyncIterator[ExecutorPart]:
        self.starts.append(assignment)
        script = self._scripts.pop(0) if self._scripts else [Ended(True, "done")]
        for part in script(assignment) if callable(script) else script:
            await asyncio.sleep(0)
            if part is HANG:
                await asyncio.Event().wait()
            assert not isinstance(part, str)
            yield part

    async def close(self) -> None:
        """Nothing is held open."""


class FrozenClock:
    """Stands still; sleeping moves it on at once."""

    def __init__(self, epoch: float = 1_767_225_600.0) -> None:
        self._epoch = epoch
        self._passed = 0.0

    def now(self) -> str:
        return strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime(self.epoch()))

    def epoch(self) -> float:
        return self._epoch + self._passed

    def monotonic(self) -> float:
        return self._passed

    def uptime(self) -> float:
        return self._passed

    async def sleep(self, seconds: float) -> None:
        self._passed += seconds
        await asyncio.sleep(0)


class CountingIds:
    """turn-1, turn-2, …: the same in every run."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def new(self, kind: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}-{self._counts[kind]}"
