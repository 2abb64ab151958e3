"""uvicorn around the pages: one socket, one loop, and connections that say too little are closed."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from quintet.adapters.files.paths import Places
from quintet.domain.base.errors import UsageError
from quintet.features.web_ui.access import Doors
from quintet.features.web_ui.server import application

HEAD_SECONDS = 10.0  # within which a request has to be whole, its body aside
MOST_CONNECTIONS = 500
LAST_SECONDS = 2  # that open streams get at the end


class PatientProtocol(H11Protocol):
    """Closes a connection whose request does not become whole in time, whether it is the first on it or a later one."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        if self._late is None and not self._busy:
            self._expect()
        super().data_received(data)
        if self._busy:
            self._known()

    def connection_lost(self, exc: Exception | None) -> None:
        self._known()
        super().connection_lost(exc)

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _known(self) -> None:
        if self._late:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
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
        raise UsageError(f"{host}:{port} cannot be served on: {error}", hint="Choose another --port.") from error
    listening.listen(128)
    return listening


def serve(
    doors: Doors, here: Places, listening: socket.socket, port: int, cert: str, key: str, *, proxied: bool
) -> int:
    options: dict[str, Any] = {"ssl_certfile": cert, "ssl_keyfile": key} if cert else {}
    settings = uvicorn.Config(
        application(doors, here, f"quintet_{port}"),
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
