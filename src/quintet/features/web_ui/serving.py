"""uvicorn around the pages: one socket, one loop, and connections that say or take too little are closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, ClassVar

import uvicorn
from msgspec import Struct
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from quintet.adapters.files.paths import Places
from quintet.domain.base.errors import UsageError
from quintet.features.web_ui.access import Doors
from quintet.features.web_ui.server import application

HEAD_SECONDS = 10.0  # within which a request has to be whole, its body aside
MOST_CONNECTIONS = 700
MOST_SILENT = 150  # of them, that have not said what they want
SILENT_SECONDS = 1.0  # in which they may say it
MOST_UNHEARD = 250  # of them, however short a time they were silent
MOST_STRANGERS = 64  # of them, that sent no right token or cookie: all others are left to those who did
LAST_SECONDS = 2  # that open streams get at the end
LOOK_SECONDS = 10.0  # how often it is looked whether a client takes what waits for it
LEAST_TAKEN = 4096  # bytes, from look to look
MOST_IDLE = 3  # looks in a row at which it had taken less


class Taking(Struct):
    """What a client takes of what waits for it; what waits is bounded, for nothing is written while it is much."""

    waits: int = 0  # bytes, when it was looked last
    drained: bool = False  # nearly all of it was taken since
    idle: int = 0  # looks in a row at which it had taken too little

    def look(self, waits: int) -> bool:
        """Whether the client is to be dropped."""
        enough = not waits or self.drained or self.waits - waits >= LEAST_TAKEN
        self.idle = 0 if enough else self.idle + 1
        self.waits, self.drained = waits, False
        return self.idle >= MOST_IDLE


class PatientProtocol(H11Protocol):
    """Closes a connection whose request does not become whole in time, whether it is the first on it or a later one,
    and one that does not take its answers. Strangers have a small share of the connections: of too many, the oldest
    go, so that nobody without a token can keep those out who have one."""

    look_seconds = LOOK_SECONDS
    silent_seconds = SILENT_SECONDS
    silent: ClassVar[dict[PatientProtocol, float]] = {}  # those whose request is not whole, the oldest first
    strangers: ClassVar[dict[PatientProtocol, None]] = {}  # the oldest first
    knows: ClassVar[Callable[[Scope], bool]] = staticmethod(lambda scope: True)  # whether a request's sender is known
    _late: asyncio.TimerHandle | None = None
    _sorted: object = None  # the request whose sender was looked at last
    _trusted = False  # one came with a right token: a page's files are asked for on the same connection, without it
    _looking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._taking = Taking()
        self._looking = self.loop.call_later(self.look_seconds, self._look)
        self._expect()

    def resume_writing(self) -> None:
        self._taking.drained = True
        super().resume_writing()

    def _look(self) -> None:
        """Also after a close: a connection stays until what was written is taken."""
        if self._taking.look(self.transport.get_write_buffer_size()):
            self.transport.abort()
        else:
            self._looking = self.loop.call_later(self.look_seconds, self._look)

    def data_received(self, data: bytes) -> None:
        if self._late is None and not self._busy:
            self._expect()
        super().data_received(data)
        if self._busy:
            self._known()
            self._sort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._known()
        self.strangers.pop(self, None)
        if self._looking:
            self._looking.cancel()
        super().connection_lost(exc)

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect(self) -> None:
        """Those that say nothing leave room for those that do: of too many, the oldest go.

        Not at once: many pages that come back after a restart have not said anything either when they connect.
        """
        now = self.loop.time()
        self.silent[self] = now
        while len(self.silent) > MOST_SILENT:
            oldest, since = next(iter(self.silent.items()))
            if now - since < self.silent_seconds and len(self.silent) <= MOST_UNHEARD:
                break
            oldest._known()
            oldest.transport.abort()
        self._late = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _sort(self) -> None:
        """Whose request it is, looked at once for each."""
        if self._sorted is self.cycle:
            return
        self._sorted = self.cycle
        self.strangers.pop(self, None)
        self._trusted = self._trusted or type(self).knows(self.scope)  # type: ignore[arg-type]
        if self._trusted:
            return
        self.strangers[self] = None
        while len(self.strangers) > MOST_STRANGERS:
            oldest = next(iter(self.strangers))
            self.strangers.pop(oldest)
            oldest.transport.abort()

    def _known(self) -> None:
        self.silent.pop(self, None)
        if self._late:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._known()
        if not self._busy and not self.transport.is_closing():
            self.transport.close()


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error}", hint="Choose another --port.") from error
    listening.listen(128)
    return listening


def serve(
    doors: Doors, here: Places, listening: socket.socket, port: int, cert: str, key: str, *, proxied: bool
) -> int:
    options: dict[str, Any] = {"ssl_certfile": cert, "ssl_keyfile": key} if cert else {}
    app = application(doors, here, f"quintet_{port}")
    PatientProtocol.knows = staticmethod(app.knows)
    settings = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,  # a link with its token would stand in it
        proxy_headers=proxied,
        forwarded_allow_ips="127.0.0.1",
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=LAST_SECONDS,
        **options,
    )
    try:
        asyncio.run(uvicorn.Server(settings).serve(sockets=[listening]))
    except KeyboardInterrupt:
        return 130
    return 0
