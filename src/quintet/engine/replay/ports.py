"""Any port recorded and replayed: what its members give is written down under their names, and given back in a replay.

An answer has to have a JSON form, and its declared type is what a replay makes of it. `PortForm` says where a port
departs from that; a port of which something else is written down overrides single members.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import typing
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, TypeVar, cast

from msgspec import Struct, field

from quintet.engine.replay.player import Player, given
from quintet.engine.replay.recorder import Recorder

T = TypeVar("T")
HOUSEKEEPING = {"close": None, "tidy": None, "beat": None}


class PortForm(Struct, frozen=True):
    """How what comes through a port is written down."""

    name: str = ""  # that its kinds of entries begin with
    kinds: dict[str, str] = field(default_factory=dict)  # not called as their members; {} is the first argument
    numbered: bool = True  # waits are, where several may go on at once and end in any order
    unrecorded: dict[str, Any] = field(default_factory=dict)  # nothing depends on them; with what a replay gives

    def kind(self, member: str) -> str:
        named = self.kinds.get(member, member)
        return f"{self.name}.{named}" if self.name else named


CLOCK = PortForm(numbered=False, unrecorded={"epoch": 0.0, "uptime": 0.0})  # of leases, which a replay has no need of
IDS = PortForm(kinds={"new": "id.{}"})
RULE_BOOK = PortForm(kinds={"add": "rule_kept", "revoke": "rule_revoked"}, unrecorded={"rules": ()})
REPOSITORY = PortForm(kinds={"line_counts": "lines"}, numbered=False)
HOOKS = PortForm(kinds={"run": "hook"}, numbered=False)
CHECKPOINTS = PortForm("checkpoints", unrecorded={"progress": (0, 0)})  # shown, by the time that has passed
AGENTS, PLANS = PortForm("agents"), PortForm("plans")
INTEGRATION = PortForm("integration")
RECALL, LESSONS = PortForm("recall"), PortForm("lessons")
EXECUTORS, TASKS, LOOK = PortForm("executors"), PortForm("tasks", unrecorded={"due": None}), PortForm("look")


def recorded_port(port: T, form: PortForm, recorder: Recorder) -> T:
    return cast(T, RecordedPort(port, form, recorder))


class _FormedPort:
    def __init__(self, form: PortForm) -> None:
        self._form = form
        self._waits = 0

    def _wait(self, kind: str) -> str:
        """The kind of the next wait."""
        self._waits += 1
        return f"{kind}.{self._waits}" if self._form.numbered else kind


class RecordedPort(_FormedPort):
    """A port whose answers are written down; each method is wrapped once, when it is first used."""

    def __init__(self, port: Any, form: PortForm, recorder: Recorder) -> None:
        super().__init__(form)
        self._port = port
        self._recorder = recorder

    def __getattr__(self, member: str) -> Any:
        found = getattr(self._port, member)
        kind = self._form.kind(member)
        if member in HOUSEKEEPING or member in self._form.unrecorded:
            return found
        if not callable(found):
            return self._recorder.asked(kind, lambda: found)
        wrapped = self._wrapped(kind, found)
        setattr(self, member, wrapped)
        return wrapped

    def _wrapped(self, kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self._recorder

        def asked(*words: Any, **named: Any) -> Any:
            return recorder.asked(kind.format(*words), lambda: method(*words, **named))

        async def awaited(*words: Any, **named: Any) -> Any:
            return await recorder.awaited(self._wait(kind), method(*words, **named))

        def streamed(*words: Any, **named: Any) -> Any:
            return self._streamed(kind, method(*words, **named))

        if inspect.isasyncgenfunction(method):
            return streamed
        return awaited if inspect.iscoroutinefunction(method) else asked

    async def _streamed(self, kind: str, parts: AsyncGenerator[Any, None]) -> AsyncIterator[Any]:
        """Each part as it comes, in a list of one; an empty list when there are no more."""
        recorder = self._recorder
        kind = self._wait(kind)
        try:
            async with contextlib.aclosing(parts):
                async for part in parts:
                    await recorder.settled()
                    recorder.add(kind, [part])
                    yield part
            await recorder.settled()
            recorder.add(kind, [])
        except (Exception, asyncio.CancelledError) as error:
            await recorder.come_in_at_last(kind, error)
            raise


class ReplayedPort(_FormedPort):
    """`port` is the class that declares the members, `names` what its annotations may mean beside its module's."""

    def __init__(self, port: type, form: PortForm, player: Player, names: dict[str, Any] | None = None) -> None:
        super().__init__(form)
        self._port = port
        self._player = player
        self._names = names or {}

    def __getattr__(self, member: str) -> Any:
        kind = self._form.kind(member)
        declared = inspect.getattr_static(self._port, member, None)
        if isinstance(declared, property) and member in self._form.unrecorded:
            return self._form.unrecorded[member]
        if declared is None or isinstance(declared, property):
            return self._player.ask(kind, self._type(declared.fget if declared else self._port, member))
        wrapped = self._wrapped(member, kind, declared)
        setattr(self, member, wrapped)
        return wrapped

    def _wrapped(self, member: str, kind: str, declared: Callable[..., Any]) -> Callable[..., Any]:
        unrecorded = {**HOUSEKEEPING, **self._form.unrecorded}
        waits = inspect.iscoroutinefunction(declared)
        if member in unrecorded:
            return _async(unrecorded[member]) if waits else lambda *_, **__: unrecorded[member]
        wanted = self._type(declared, member)

        def asked(*words: Any, **_: Any) -> Any:
            return self._player.ask(kind.format(*words), wanted)

        async def awaited(*_: Any, **__: Any) -> Any:
            return given(await self._player.wait(self._wait(kind)), wanted)

        def streamed(*_: Any, **__: Any) -> Any:
            return self._streamed(kind, typing.get_args(wanted)[0])

        if typing.get_origin(wanted) is AsyncIterator:
            return streamed
        return awaited if waits else asked

    async def _streamed(self, kind: str, part: Any) -> AsyncIterator[Any]:
        kind = self._wait(kind)
        while parts := given(await self._player.wait(kind), list[part]):
            yield parts[0]

    def _type(self, declared: Any, member: str) -> Any:
        module = inspect.getmodule(self._port)
        hints = typing.get_type_hints(declared, {**vars(module), **self._names})
        return hints[member if isinstance(declared, type) else "return"]


def _async(value: Any) -> Callable[..., Any]:
    async def give(*_: Any, **__: Any) -> Any:
        return value

    return give
