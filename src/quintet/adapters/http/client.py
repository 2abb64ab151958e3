"""A client of one model server: requests to a base URL, answers streamed.

A connection is kept for the next request; one that died meanwhile, before a byte of the answer, is replaced once and
silently. Leaving a request before the answer's end, by an error or by cancellation too, closes the connection.
Everything that goes wrong is a ModelError that names the place and what to do. A client belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping

import h11

from quintet.adapters.http.connection import (
    CONNECT_SECONDS,
    Connection,
    HttpAddress,
    Streams,
    address_of,
    proxy_for,
    reach_through,
    tls_context,
)
from quintet.domain.base.errors import ModelBadResponse, ModelError, ModelTimeout, ModelUnreachable

LONGEST_WAIT = 86_400.0  # whatever a Retry-After says
REST_BYTES = 65_536


class HttpClient:
    """`idle` is the longest silence borne, in seconds; 0 for any."""

    def __init__(self, base_url: str, idle: float, setting: str) -> None:
        self._base_url = base_url
        self._idle = idle if idle > 0 else None
        self._setting = setting
        self._kept: _ModelConnection | None = None
        self._closed = False

    def post(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> contextlib.AbstractAsyncContextManager[Response]:
        return self._asked("POST", path, headers, body)

    def put(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> contextlib.AbstractAsyncContextManager[Response]:
        return self._asked("PUT", path, headers, body)

    def get(self, path: str, headers: Mapping[str, str]) -> contextlib.AbstractAsyncContextManager[Response]:
        return self._asked("GET", path, headers, b"")

    @contextlib.asynccontextmanager
    async def _asked(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> AsyncIterator[Response]:
        headers = {"accept-encoding": "identity", **headers}
        connection, self._kept = self._kept, None
        head: h11.Response | None = None
        if connection:
            # Where a parked connection died without a byte of an answer, asking again asks nothing twice.
            with contextlib.suppress(ModelUnreachable):
                head = await connection.ask(method, path, headers, body)
        if not connection or not head:
            connection = await _connect(base_address(self._base_url, self._setting), self._idle, self._setting)
            head = await connection.ask(method, path, headers, body)
        try:
            yield Response(connection, head)
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
        await asyncio.sleep(0)  # a transport closes its socket in the next round of the loop


class Response:
    """An answer whose head has arrived; iterate it for the body."""

    def __init__(self, connection: Connection, head: h11.Response) -> None:
        self._connection = connection
        self.status = head.status_code
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}

    @property
    def retry_after(self) -> float | None:
        """The seconds the server asks us to wait: it sends a number, or a date."""
        value = self.headers.get("retry-after", "").strip()
        if not value:
            return None
        from email.utils import parsedate_to_datetime  # 10 ms, and few servers ask to wait

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


class _ModelConnection(Connection):
    """A connection whose errors are ModelErrors; `setting` is what hints call the model it belongs to."""

    def __init__(
        self, streams: Streams, proxy: dict[str, str] | None, address: HttpAddress, idle: float | None, setting: str
    ) -> None:
        super().__init__(streams, proxy, address, idle)
        self._setting = setting

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> h11.Response:
        """ModelUnreachable means that no byte of an answer came."""
        with self._as_model_errors():
            return await super().ask(method, path, headers, body)

    async def event(self) -> h11.Event:
        with self._as_model_errors():
            return await super().event()

    @contextlib.contextmanager
    def _as_model_errors(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            hint = f"try again, or give a slow model more time: {self._setting}.timeout"
            raise ModelTimeout(f"{self.address.authority} sent nothing for {self.idle or 0:g} s", hint=hint) from error
        except (OSError, EOFError) as error:
            raise self._broken() from error
        except h11.RemoteProtocolError as error:
            raise (self._broken() if self.at_end else self._not_http(str(error))) from error

    def _not_http(self, why: str) -> ModelBadResponse:
        problem = f"{self.address.authority} does not answer with HTTP: {why[:200]}"
        return ModelBadResponse(problem, hint=f"check {self._setting}.base_url")

    def _broken(self) -> ModelError:
        if not self.answered:
            return ModelUnreachable(
                f"{self.address.authority} closed the connection without an answer", hint="try again later"
            )
        error = ModelBadResponse(f"the answer of {self.address.authority} is incomplete", hint="try again")
        error.retryable = True
        return error


def base_address(base_url: str, setting: str) -> HttpAddress:
    """Where a model's base URL leads; ModelUnreachable if it is no address."""
    try:
        address = address_of(base_url)
    except (ValueError, KeyError) as error:
        problem = f"{setting}.base_url is not an http:// or https:// address"
        raise _lasting(ModelUnreachable(problem, hint="correct it in your settings")) from error
    return address._replace(path=address.path.rstrip("/"))


async def _connect(address: HttpAddress, idle: float | None, setting: str) -> _ModelConnection:
    where, hint = address.authority, f"start the server, or check {setting}.base_url"
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            context = await tls_context() if address.tls else None
            if proxy := proxy_for(address, os.environ):
                where += f" through the proxy {proxy.netloc.rpartition('@')[2]}"
                hint = f"check the proxy variables of the environment and {setting}.base_url"
                return _ModelConnection(*await reach_through(proxy, address, context), address, idle, setting)
            streams = await asyncio.open_connection(address.host, address.port, ssl=context, happy_eyeballs_delay=0.25)
            return _ModelConnection(streams, None, address, idle, setting)
    except TimeoutError as error:
        raise ModelTimeout(f"no connection to {where} in {CONNECT_SECONDS:g} s", hint=hint) from error
    except (OSError, ValueError, EOFError, asyncio.LimitOverrunError) as error:
        raise _unreachable(where, error, hint) from error


def _unreachable(where: str, error: Exception, hint: str) -> ModelUnreachable:
    if distrust := getattr(error, "verify_message", ""):
        hint = "for your own certificate authority, set SSL_CERT_FILE"
        return _lasting(ModelUnreachable(f"the certificate of {where} is not trusted: {distrust}", hint=hint))
    if f"[Errno {errno.ECONNREFUSED}]" in str(error):  # in its words, for two addresses fail as one bare OSError
        why = "no server is listening there"
    elif isinstance(error, socket.gaierror):
        why = "no such host"
    else:
        why = "it closed the connection" if isinstance(error, EOFError) else str(error)
    return ModelUnreachable(f"no connection to {where}: {why}", hint=hint)


def _lasting(error: ModelUnreachable) -> ModelUnreachable:
    """The same error as one that trying again will not cure."""
    error.retryable = False
    return error
