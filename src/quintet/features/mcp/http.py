"""MCP over streamable HTTP, or over HTTP with SSE as it was before, with bounds on what the server may send."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from quintet import __version__
from quintet.features.mcp.byte_limit import Flooded, Gauge
from quintet.features.mcp.values import McpServer

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

CONNECT_SECONDS = 10.0
EVENT_BYTES = 16_000_000
QUIET_SECONDS = 3600.0  # a stream of events may be silent for so long: somebody may be thinking of an answer


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, gauge: Gauge) -> None:
        self._stream = stream
        self._gauge = gauge

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            try:
                self._gauge.count(len(chunk))
            except Flooded as flood:
                self._gauge.lost = str(flood)
                raise httpx2.ReadError(str(flood)) from flood
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bounded(httpx2.AsyncBaseTransport):
    """Counts what comes, and takes nothing packed: a small packet may unpack to anything."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, gauge: Gauge) -> None:
        self._inner = inner
        self._gauge = gauge

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.is_error:
            self._gauge.refusal = f"HTTP {response.status_code} {response.reason_phrase}".strip()
            self._gauge.login |= _wants_login(response)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.ReadError("it compresses its answers, although it was asked not to")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._gauge)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def _wants_login(response: httpx2.Response) -> bool:
    """As OAuth says it: nobody is logged in, or the login does not allow this."""
    challenge = response.headers.get("www-authenticate", "")
    return response.status_code == 401 or (response.status_code == 403 and "insufficient_scope" in challenge)


@asynccontextmanager
async def bounded_http(
    server: McpServer, gauge: Gauge, auth: httpx2.Auth | None = None, *, sse: bool = False
) -> AsyncIterator[TransportStreams]:
    """A transport for `mcp.Client`."""
    headers = {"user-agent": f"quintet/{__version__}", **server.headers, "accept-encoding": "identity"}
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=QUIET_SECONDS)
    if sse:
        ours, limits = headers, timeout

        def made(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            transport = _Bounded(httpx2.AsyncHTTPTransport(), gauge)
            return httpx2.AsyncClient(headers=ours, timeout=limits, auth=auth, transport=transport)

        async with sse_client(server.url, auth=auth, httpx_client_factory=made) as streams:
            yield streams
        return
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, auth=auth, transport=_Bounded(httpx2.AsyncHTTPTransport(), gauge)
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=EVENT_BYTES) as streams,
    ):
        yield streams
