"""What a server says of its own loading: work-done progress, and the notes of those that have words of their own.

A server answers from what it has read so far. `settled` waits until it says that it works on nothing, and has said
nothing for a moment; `doing` is what it says meanwhile, with how much of it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from quintet.features.language_servers.wire import WireProgress, WireWork

OWN_TOKEN = "its own notes"  # of servers that tell their loading without a token


class _Status(Struct):
    """rust-analyzer's: quiescent once it has loaded."""

    quiescent: bool = True
    message: str | None = None


class _Phase(Struct):
    """jdtls's: Starting, then ServiceReady."""

    type: str = ""
    message: str = ""


class _Work(Struct, frozen=True):
    title: str
    message: str = ""
    percentage: float | None = None

    def text(self) -> str:
        said = " ".join(filter(None, (self.title, self.message)))
        return said if self.percentage is None or "%" in said else f"{said}, {self.percentage:.0f} %"


class ServerLoading:
    def __init__(self) -> None:
        self.news = asyncio.Event()  # something was heard, or the connection is lost
        self.begun = 0  # how often work was announced
        self._work: dict[int | str, _Work] = {}
        self._last = asyncio.get_running_loop().time()

    @property
    def hears(self) -> Mapping[str, Callable[[Any], None]]:
        """The notifications that tell of it."""
        return {
            "$/progress": self._progress,
            "$/typescriptVersion": lambda params: self.heard(),
            "experimental/serverStatus": self._status,
            "language/status": self._phase,
            "pyright/beginProgress": lambda params: self._own("loading"),
            "pyright/reportProgress": lambda params: self._own(params if isinstance(params, str) else "loading"),
            "pyright/endProgress": lambda params: self._own(""),
        }

    @property
    def doing(self) -> str:
        """What the server says it is doing, such as indexing; empty if nothing."""
        return next((work.text() for work in self._work.values()), "")

    def heard(self) -> None:
        self._last = asyncio.get_running_loop().time()
        self.news.set()

    async def settled(self, quiet: float, until: float) -> bool:
        """Wait until there is no work and nothing was heard for `quiet` seconds; False if it was not so by `until`."""
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            due = until if self._work else min(until, self._last + quiet)
            if now >= due:
                return not self._work and now >= self._last + quiet
            self.news.clear()
            try:
                async with asyncio.timeout(due - now):
                    await self.news.wait()
            except TimeoutError:
                continue

    def _progress(self, params: Any) -> None:
        progress = msgspec.convert(params, WireProgress)
        token, said = progress.token, progress.value
        if said.kind == "begin":
            self.begun += 1
            self._work[token] = _Work(said.title or "working", said.message or "", said.percentage)
        elif said.kind == "report" and token in self._work:
            self._work[token] = self._reported(self._work[token], said)
        elif said.kind == "end":
            self._work.pop(token, None)
        self.heard()

    def _reported(self, work: _Work, said: WireWork) -> _Work:
        more = said.percentage if said.percentage is not None else work.percentage
        return _Work(work.title, said.message or work.message, more)

    def _status(self, params: Any) -> None:
        status = msgspec.convert(params, _Status)
        self._own("" if status.quiescent else status.message or "loading")

    def _phase(self, params: Any) -> None:
        phase = msgspec.convert(params, _Phase)
        if phase.type == "Starting":
            self._own(phase.message or "starting")
        elif phase.type in ("ServiceReady", "Error"):
            self._own("")

    def _own(self, doing: str) -> None:
        if doing:
            self.begun += OWN_TOKEN not in self._work
            self._work[OWN_TOKEN] = _Work(doing)
        else:
            self._work.pop(OWN_TOKEN, None)
        self.heard()
