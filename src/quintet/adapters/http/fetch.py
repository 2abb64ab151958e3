"""Fetches one address over HTTP/1.1, within bounds of size, time and redirects.

With a guard, every hop's host is looked up once, judged, and connected to by the very address that was judged, so that
a name cannot lead elsewhere a moment later. What was given for one host is not sent to another.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from urllib.parse import urljoin, urlsplit

import h11
from msgspec import Struct

from quintet import __version__
from quintet.adapters.http.connection import (
    CONNECT_SECONDS,
    Connection,
    HttpAddress,
    Streams,
    address_of,
    proxy_for,
    reach_through,
    tls_context,
    tunnel,
)
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.private_hosts import allowed, private_kind

_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "user-agent": f"quintet/{__version__}",
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "close",
}
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Served = Callable[[], Iterable[int]]  # ports of loopback


class NoConnection(ToolFailed):
    """The server was not reached, so that it cannot have done anything."""


class Fetched(Struct, frozen=True):
    url: str  # where the answer came from
    status: int
    headers: dict[str, str]  # names in lower case; the last of several
    body: bytes
    cut: bool = False  # there was more of it

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


async def looked_up(host: str, port: int) -> list[str]:
    """The addresses of a host, by the system's own lookup, which also reads 127.1 and 0x7f000001."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Keeps from hosts that are not everybody's, but for those that the user allowed."""

    def __init__(self, allow: Sequence[str]) -> None:
        self._allow = tuple(allow)

    def check(self, host: str, port: int, addresses: Sequence[str]) -> None:
        if allowed(self._allow, host, port, addresses):
            return
        for address in addresses:
            if kind := private_kind(address):
                leads = "is" if address == host else f"leads to {address}, which is"
                raise ToolFailed(
                    f"{host} {leads} a {kind} address: not fetched",
                    hint=f'to allow it, put it into your settings: [web] allow_hosts = ["{_bracketed(host)}:{port}"]',
                )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class Fetcher:
    def __init__(
        self,
        *,
        seconds: float,
        most_bytes: int,
        redirects: int = 0,
        guard: Guard | None = None,
        resolve: Resolve = looked_up,
    ) -> None:
        self._seconds = seconds
        self._most = most_bytes
        self._redirects = redirects
        self._guard = guard
        self._resolve = resolve
        self._context: ssl.SSLContext | None = None

    async def send(
        self, url: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", body: bytes = b""
    ) -> Fetched:
        """One request and its answer, whatever its status. GETs follow redirects."""
        try:
            async with asyncio.timeout(self._seconds or None):
                return await self._followed(url, dict(headers or {}), method, body)
        except TimeoutError:
            raise ToolFailed(f"{url}: no answer in {self._seconds:g} s") from None

    async def _followed(self, url: str, headers: dict[str, str], method: str, body: bytes) -> Fetched:
        for hop in range(self._redirects + 1):
            address = fetch_address(url)
            got = await self._exchange(url, address, headers, method, body)
            where = got.headers.get("location", "")
            if got.status not in _REDIRECTS or not where or method != "GET":
                return got
            if hop == self._redirects:
                break
            url = urljoin(url, where)
            if fetch_address(url)[:3] != address[:3]:
                headers = {}
        raise ToolFailed(f"{url}: more than {self._redirects} redirects")

    async def _exchange(
        self, url: str, address: HttpAddress, headers: dict[str, str], method: str, body: bytes
    ) -> Fetched:
        if address.tls and self._context is None:
            self._context = await tls_context()
        context = self._context if address.tls else None
        streams, proxy = await reach(address, self._guard, self._resolve, context)
        connection = Connection(streams, proxy, address)
        try:
            head = await connection.ask(method, "", {**_HEADERS, **headers}, body)
            return await self._answer(url, head, connection)
        except h11.RemoteProtocolError as error:
            raise ToolFailed(f"{url}: the server does not answer with HTTP ({error})") from None
        except h11.LocalProtocolError as error:
            raise ToolFailed(f"{url}: this cannot be requested ({error})") from None
        except (OSError, EOFError) as error:
            raise ToolFailed(
                f"{url}: the connection was lost ({error or 'the server closed the connection'})"
            ) from None
        finally:
            connection.drop()

    async def _answer(self, url: str, head: h11.Response, connection: Connection) -> Fetched:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers}
        unpack = _Unpacking(headers.get("content-encoding", ""), self._most)
        while isinstance(event := await connection.event(), h11.Data):
            if unpack.take(bytes(event.data)):
                break
        return Fetched(url, head.status_code, headers, bytes(unpack.body), unpack.cut)


async def reach(
    address: HttpAddress,
    guard: Guard | None,
    resolve: Resolve,
    context: ssl.SSLContext | None = None,
    *,
    bare: bool = False,
) -> tuple[Streams, dict[str, str] | None]:
    """A connection to an address, judged by the guard: through the proxy that the environment names, if it names one.

    With the headers for the proxy where it is that which is spoken to; `bare` is a connection right to it.
    """
    proxy = proxy_for(address, os.environ)
    try:
        addresses: Sequence[str] = await resolve(address.host, address.port)
    except (OSError, UnicodeError) as error:
        if not proxy:
            raise ToolFailed(f"{address.host}: no such host ({getattr(error, 'strerror', '') or error})") from None
        addresses = ()  # the proxy may know it
    if guard:
        guard.check(address.host, address.port, addresses)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            if proxy and bare:
                return await tunnel(proxy, address), None
            if proxy:
                return await reach_through(proxy, address, context)
            return await _reached(address, addresses, context), None
    except TimeoutError:
        raise NoConnection(f"{address.authority}: no connection in {CONNECT_SECONDS:g} s") from None
    except (OSError, ValueError, EOFError) as error:
        why = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error)
        raise NoConnection(f"{address.authority}: no connection ({why})") from None


async def _reached(address: HttpAddress, addresses: Sequence[str], context: ssl.SSLContext | None) -> Streams:
    """The first of the addresses that answers; never the name, which might by now lead elsewhere."""
    problem: OSError = OSError("it has no address")
    for number in addresses:
        try:
            return await asyncio.open_connection(
                number, address.port, ssl=context, server_hostname=address.host if context else None
            )
        except OSError as error:
            problem = error
    raise problem


class _Unpacking:
    """A body as it comes, unpacked, up to so many bytes."""

    def __init__(self, encoding: str, most: int) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolFailed(f"the answer is compressed with {encoding}, which was not requested")
        self._most = most
        self._deflate = encoding == "deflate"
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding not in ("", "identity") else None
        self.body = bytearray()
        self.cut = False

    def take(self, data: bytes) -> bool:
        """Take a piece; returns whether that is enough."""
        room = self._most - len(self.body) + 1
        self.body += self._unpacked(data, room) if self._inflate else data[:room]
        if len(self.body) > self._most:
            self.cut = True
            del self.body[self._most :]
        return self.cut

    def _unpacked(self, data: bytes, room: int) -> bytes:
        assert self._inflate
        try:
            return self._inflate.decompress(data, room)
        except zlib.error:
            if self._deflate and not self.body:  # some servers leave out the wrapping
                self._deflate, self._inflate = False, zlib.decompressobj(-zlib.MAX_WBITS)
                return self._unpacked(data, room)
            raise ToolFailed("the answer is not compressed correctly") from None


def fetch_address(url: str) -> HttpAddress:
    """Where a URL leads; a ToolFailed if it is none that can be fetched."""
    try:
        address = address_of(url)
        parts = urlsplit(url.strip())
        if parts.username or parts.password:
            raise ValueError("it contains a login")
    except KeyError:
        raise ToolFailed(f"{url}: expected an address that begins with http:// or https://") from None
    except ValueError as error:
        raise ToolFailed(f"{url}: not an address that can be fetched ({error})") from None
    return address if address.path else address._replace(path="/")
