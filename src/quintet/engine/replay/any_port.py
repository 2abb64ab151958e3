"""Any port on record: what its methods give is written down under their names, and given back by them in a replay.

A method's answer has to have a JSON form, and its declared type is what a replay makes of it. Waits are numbered, since
several may go on at once and end in any order.
"""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import AsyncIterator, Callable
from typing import Any

from quintet.domain.base.errors import ToolFailed
from quintet.engine.replay.recorder import Recorder
from quintet.engine.replay.replay_ports import Tape, given

UNHEARD = frozenset({"close", "tidy", "beat"})  # housekeeping, that nothing depends on


async def _nothing(*_: object) -> None:
    """A replay has nothing to keep in order."""


class RecordedPort:
    def __init__(self, name: str, port: Any, recorder: Recorder) -> None:
        self._name = name
        self._port = port
        self._recorder = recorder
        self._waits = 0

    def __getattr__(self, member: str) -> Any:
        found = getattr(self._port, member)
        if member in UNHEARD:
            return found
        kind = f"{self._name}.{member}"
        if not callable(found):
            return self._recorder.asked(kind, lambda: found)
        if inspect.isasyncgenfunction(found):
            return lambda *words, **named: self._streamed(kind, found(*words, **named))
        if not inspect.iscoroutinefunction(found):
            return lambda *words, **named: self._recorder.asked(kind, lambda: found(*words, **named))

        async def awaited(*words: Any, **named: Any) -> Any:
            self._waits += 1
            return await self._recorder.awaited(f"{kind}.{self._waits}", found(*words, **named))

        return awaited

    async def _streamed(self, kind: str, parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Each part as it comes, in a list of one; an empty list when there are no more."""
        recorder = self._recorder
        self._waits += 1
        kind = f"{kind}.{self._waits}"
        try:
            async for part in parts:
                await recorder.settled()
                recorder.add(kind, [part])
                yield part
            await recorder.settled()
            recorder.add(kind, [])
        except (Exception, asyncio.CancelledError) as error:
            await recorder.come_in_at_last(kind, error)
            raise


class ReplayedPort:
    """`port` is the class that declares the members, `names` what its annotations may mean beside its module's."""

    def __init__(self, name: str, port: type, recorded: Tape, **names: Any) -> None:
        self._name = name
        self._port = port
        self._tape = recorded
        self._names = names
        self._waits = 0

    def __getattr__(self, member: str) -> Any:
        if member in UNHEARD:
            return _nothing
        kind = f"{self._name}.{member}"
        declared = inspect.getattr_static(self._port, member, None)
        if declared is None or isinstance(declared, property):
            return self._asked(kind, self._type(declared.fget if declared else self._port, member))
        wanted = self._type(declared, member)
        if typing.get_origin(wanted) is AsyncIterator:
            return lambda *_, **__: self._streamed(kind, typing.get_args(wanted)[0])
        if not inspect.iscoroutinefunction(declared):
            return lambda *_, **__: self._asked(kind, wanted)

        async def awaited(*_: Any, **__: Any) -> Any:
            self._waits += 1
            return given(await self._tape.wait(f"{kind}.{self._waits}"), wanted)

        return awaited

    async def _streamed(self, kind: str, part: Any) -> AsyncIterator[Any]:
        self._waits += 1
        kind = f"{kind}.{self._waits}"
        while parts := given(await self._tape.wait(kind), list[part]):
            yield parts[0]

    def _asked(self, kind: str, wanted: Any) -> Any:
        entry = self._tape.take(kind)
        if entry is None:
            raise ToolFailed(f"the recording ends before {kind}")
        return given(entry, wanted)

    def _type(self, declared: Callable[..., Any] | type | None, member: str) -> Any:
        module = inspect.getmodule(self._port)
        hints = typing.get_type_hints(declared, {**vars(module), **self._names})
        return hints[member if isinstance(declared, type) else "return"]
