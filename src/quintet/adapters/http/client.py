"""A light HTTP/1.1 client over asyncio streams and h11: POSTs to one base URL, answers streamed.

A connection is kept for the next request; one that died meanwhile, before a byte of the answer, is replaced once and
silently. Leaving `post` before the answer's end, by an error or by cancellation too, closes the connection. Everything
that goes wrong is a ModelError that names the place and what to do. A client belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import binascii
import contextlib
import errno
import os
import socket
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote

import h11

from quintet.adapters.http.addresses import BaseAddress, lasting, place_of, proxy_for
from quintet.domain.base.errors import ModelBadResponse, ModelError, ModelTimeout, ModelUnreachable

if TYPE_CHECKING:
    import ssl

    _Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

CONNECT_SECONDS = 10.0  # name lookup, TCP, proxy and TLS together
KEEP_SECONDS = 60.0  # routers forget silent connections, and a forgotten one would cost a whole idle timeout
HEADER_BYTES = 32_768
LONGEST_WAIT = 86_400.0  # whatever a Retry-After says
REST_BYTES = 65_536
_CHUNK = 65_536


class HttpClient:
    """`idle` is the longest silence borne, in seconds; 0 for any."""

    def __init__(self, base_url: str, idle: float, setting: str) -> None:
        self._base_url = base_url
        self._idle = idle if idle > 0 else None
        self._setting = setting
        self._kept: _Connection | None = None
        self._closed = False

    @contextlib.asynccontextmanager
    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> AsyncIterator[Response]:
        connection, self._kept = self._kept, None
        response: Response | None = None
        if connection:
            # Where a parked connection died without a byte of an answer, asking again asks nothing twice.
            with contextlib.suppress(ModelUnreachable):
                response = await connection.ask(path, headers, body)
        if not connection or not response:
            connection = await _connect(place_of(self._base_url, self._setting), self._idle)
            response = await connection.ask(path, headers, body)
        try:
            yield response
        finally:
            if connection.park() and self._kept is None and not self._closed:
                self._kept = connection
            else:
                connection.drop()

    async def close(self) -> None:
        self._closed = True
        if self._kept:
            self._kept.drop()
        self._kept = None
        await asyncio.sleep(0)  # a transport lets go of its socket in the loop's next round


class Response:
    """An answer whose head has arrived; iterate it for the body."""

    def __init__(self, connection: _Connection, head: h11.Response) -> None:
        self._connection = connection
        self.status = head.status_code
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}

    @property
    def retry_after(self) -> float | None:
        """The seconds the server asks us to wait: it sends a number, or a date."""
        value = self.headers.get("retry-after", "").strip()
        if not value:
            return None
        from email.utils import parsedate_to_datetime

        try:
            number = value.replace(".", "", 1).isdecimal()
            seconds = float(value) if number else parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        return min(max(seconds, 0.0), LONGEST_WAIT)

    def __aiter__(self) -> Response:
        return self

    async def __anext__(self) -> bytes:
        event = await self._connection.event()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        raise StopAsyncIteration

    async def rest(self, seconds: float) -> bytes:
        """What is left of the body, as far as it comes in this time and fits in 64 kB. Raises no ModelError."""
        body = bytearray()
        with contextlib.suppress(ModelError, TimeoutError):
            async with asyncio.timeout(seconds):
                async for data in self:
                    body += data
                    if len(body) >= REST_BYTES:
                        break
        return bytes(body[:REST_BYTES])


class _Connection:
    """One connection; `proxy` holds the headers for a proxy that reads our requests, None where none does."""

    def __init__(self, streams: _Streams, proxy: dict[str, str] | None, place: BaseAddress, idle: float | None) -> None:
        self._reader, self._writer = streams
        self._place = place
        self._idle = idle
        self._proxy = proxy
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEADER_BYTES)
        self._answered = False
        self._parked_at: float | None = None

    async def ask(self, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Send a request and wait for the head of its answer. ModelUnreachable means that no byte of one came."""
        place = self._place
        host = place.authority.removesuffix(":443" if place.tls else ":80")  # some servers know no host with a port
        target = ("" if self._proxy is None else f"http://{host}") + place.path + path + place.query
        own = {"host": host, "content-length": str(len(body)), "accept-encoding": "identity"}
        fields = list({**own, **(self._proxy or {}), **headers}.items())
        try:
            if await self._is_stale():
                raise self._broken()
            head = self._http.send(h11.Request(method="POST", target=target, headers=fields)) or b""
            await self._send(head + (self._http.send(h11.Data(data=body)) or b""))
            self._http.send(h11.EndOfMessage())
            event = await self.event()
            assert isinstance(event, h11.Response)
            return Response(self, event)
        except BaseException:
            self.drop()
            raise

    async def event(self) -> h11.Event:
        """The next piece of the answer: its head, data, or the end."""
        while True:
            try:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    self._http.receive_data(await self._read())
                elif isinstance(event, h11.Event) and not isinstance(event, h11.InformationalResponse):
                    return event
            except h11.RemoteProtocolError as error:
                raise (self._broken() if self._reader.at_eof() else self._alien(str(error))) from error

    async def _read(self) -> bytes:
        async with self._patience():
            data = await self._reader.read(_CHUNK)
        if not self._answered:
            if not data:
                raise self._broken()
            if not data.startswith(b"HTTP/"[: len(data)]):  # h11 would wait for the end of a head
                raise self._alien(f"it says {data[:20]!r}")
        self._answered = True
        return data

    async def _send(self, data: bytes) -> None:
        for start in range(0, len(data), _CHUNK):  # in pieces, so that a slow line is not taken for a silent one
            async with self._patience():
                self._writer.write(data[start : start + _CHUNK])
                await self._writer.drain()

    @contextlib.asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._idle):
                yield
        except TimeoutError as error:
            hint = f"try again, or give a slow model more time: {self._place.setting}.timeout"
            raise ModelTimeout(f"{self._place.authority} was silent for {self._idle or 0:g} s", hint=hint) from error
        except OSError as error:
            raise self._broken() from error

    def _alien(self, why: str) -> ModelBadResponse:
        problem = f"{self._place.authority} does not answer in HTTP: {why[:200]}"
        return ModelBadResponse(problem, hint=f"check {self._place.setting}.base_url")

    def _broken(self) -> ModelError:
        if not self._answered:
            return ModelUnreachable(f"{self._place.authority} hung up without an answer", hint="try again later")
        error = ModelBadResponse(f"the answer of {self._place.authority} broke off", hint="try again")
        error.retryable = True
        return error

    async def _is_stale(self) -> bool:
        """A parked connection is silent, open and young, or the server is done with it."""
        if self._parked_at is None:
            return False
        try:
            async with asyncio.timeout(0):  # a look, not a wait
                await self._reader.read(1)
        except TimeoutError:
            parked = asyncio.get_running_loop().time() - self._parked_at
            return self._reader.at_eof() or parked > KEEP_SECONDS
        except OSError:
            return True
        return True  # the end, or words nobody asked for

    def park(self) -> bool:
        """Make ready for another request, if this answer is complete and the server agrees."""
        if not (self._http.our_state is self._http.their_state is h11.DONE) or self._http.trailing_data[0]:
            return False
        self._http.start_next_cycle()
        self._answered = False
        self._parked_at = asyncio.get_running_loop().time()
        return True

    def drop(self) -> None:
        self._writer.transport.abort()


async def _connect(place: BaseAddress, idle: float | None) -> _Connection:
    where, hint = place.authority, f"start the server, or check {place.setting}.base_url"
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            context = await tls_context() if place.tls else None
            if proxy := proxy_for(place, os.environ):
                where += f" through the proxy {proxy.netloc.rpartition('@')[2]}"
                hint = f"check the proxy variables of the environment and {place.setting}.base_url"
                return _Connection(*await reach_through(proxy, place, context), place, idle)
            streams = await asyncio.open_connection(place.host, place.port, ssl=context, happy_eyeballs_delay=0.25)
            return _Connection(streams, None, place, idle)
    except TimeoutError as error:
        raise ModelTimeout(f"no connection to {where} in {CONNECT_SECONDS:g} s", hint=hint) from error
    except (OSError, ValueError, EOFError, asyncio.LimitOverrunError) as error:
        raise _unreachable(where, error, hint) from error


async def tls_context() -> ssl.SSLContext:
    import ssl

    return await asyncio.to_thread(ssl.create_default_context)  # reading the trusted certificates takes 50 ms


async def reach_through(
    proxy: SplitResult, place: BaseAddress, context: ssl.SSLContext | None
) -> tuple[_Streams, dict[str, str] | None]:
    """A way through a proxy: a tunnel for TLS; otherwise the proxy itself and the headers it is to have."""
    if context is None:
        return await _at(proxy)
    reader, writer = await tunnel(proxy, place)
    try:
        await writer.start_tls(context, server_hostname=place.host)
    except BaseException:
        writer.transport.abort()
        raise
    return (reader, writer), None


async def tunnel(proxy: SplitResult, place: BaseAddress) -> _Streams:
    """A connection to a place that a proxy makes, for whatever is to be said there."""
    (reader, writer), fields = await _at(proxy)
    try:
        head = [f"CONNECT {place.authority} HTTP/1.1", f"host: {place.authority}"]
        head += [f"{name}: {value}" for name, value in fields.items()]
        writer.write("\r\n".join([*head, "", ""]).encode())
        status = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0]
        if not status.partition(b" ")[2].startswith(b"2"):
            raise ConnectionError(f"the proxy answers {status[:100]!r}")
    except BaseException:
        writer.transport.abort()
        raise
    return reader, writer


async def _at(proxy: SplitResult) -> tuple[_Streams, dict[str, str]]:
    """A connection to the proxy itself, and the headers it is to have."""
    if proxy.scheme != "http" or not proxy.hostname:
        raise ValueError("only http:// proxies are supported")
    login = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}".encode()
    token = binascii.b2a_base64(login, newline=False).decode()
    fields = {"proxy-authorization": f"Basic {token}"} if proxy.username else {}
    return await asyncio.open_connection(proxy.hostname, proxy.port or 80), fields


def _unreachable(where: str, error: Exception, hint: str) -> ModelUnreachable:
    if distrust := getattr(error, "verify_message", ""):
        hint = "for a certificate authority of your own, set SSL_CERT_FILE"
        return lasting(ModelUnreachable(f"the certificate of {where} is not trusted: {distrust}", hint=hint))
    if f"[Errno {errno.ECONNREFUSED}]" in str(error):  # in its words, for two addresses fail as one bare OSError
        why = "nothing listens there"
    elif isinstance(error, socket.gaierror):
        why = "no such host"
    else:
        why = "it hung up" if isinstance(error, EOFError) else str(error)
    return ModelUnreachable(f"no connection to {where}: {why}", hint=hint)
