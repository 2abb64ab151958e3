"""Fetches one address over HTTP/1.1, within bounds of size, time and redirects.

With a guard, every hop's host is looked up once, judged, and connected to by the very address that was judged, so that
a name cannot lead elsewhere a moment later. What was given for one host is not sent to another.
"""

from __future__ import annotations

import asyncio
import os
import socket
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin, urlsplit

import h11
from msgspec import Struct

from quintet import __version__
from quintet.adapters.http.addresses import BaseAddress, proxy_for
from quintet.adapters.http.client import HEADER_BYTES, reach_through, tls_context, tunnel
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.private_hosts import allowed, private_kind

if TYPE_CHECKING:
    import ssl

CONNECT_SECONDS = 10.0
_CHUNK = 65_536
_REDIRECTS = (301, 302, 303, 307, 308)
_KEPT = "/%:@!$&'()*+,;=~?-._"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Served = Callable[[], Iterable[int]]  # ports of loopback


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
            place = place_at(url)
            got = await self._exchange(url, place, headers, method, body)
            where = got.headers.get("location", "")
            if got.status not in _REDIRECTS or not where or method != "GET":
                return got
            if hop == self._redirects:
                break
            url = urljoin(url, where)
            if place_at(url)[:3] != place[:3]:
                headers = {}
        raise ToolFailed(f"{url}: more than {self._redirects} redirects")

    async def _exchange(
        self, url: str, place: BaseAddress, headers: dict[str, str], method: str, body: bytes
    ) -> Fetched:
        if place.tls and self._context is None:
            self._context = await tls_context()
        context = self._context if place.tls else None
        (reader, writer), proxy = await reach(place, self._guard, self._resolve, context)
        host = place.authority.removesuffix(":443" if place.tls else ":80")
        target = ("" if proxy is None else f"http://{host}") + place.path + place.query
        own = {
            "host": host,
            "user-agent": f"quintet/{__version__}",
            "accept": "*/*",
            "accept-encoding": "gzip, deflate",
            "connection": "close",
        }
        if body or method != "GET":
            own["content-length"] = str(len(body))
        http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEADER_BYTES)
        try:
            fields = list({**own, **(proxy or {}), **headers}.items())
            request = http.send(h11.Request(method=method, target=target, headers=fields)) or b""
            writer.write(request + (http.send(h11.Data(data=body)) or b"" if body else b""))
            http.send(h11.EndOfMessage())
            await writer.drain()
            return await self._answer(url, http, reader)
        except h11.RemoteProtocolError as error:
            raise ToolFailed(f"{url}: the server does not answer in HTTP ({error})") from None
        except h11.LocalProtocolError as error:
            raise ToolFailed(f"{url}: this cannot be asked for ({error})") from None
        except (OSError, EOFError) as error:
            raise ToolFailed(f"{url}: the connection broke off ({error or 'the server hung up'})") from None
        finally:
            writer.transport.abort()

    async def _answer(self, url: str, http: h11.Connection, reader: asyncio.StreamReader) -> Fetched:
        head: h11.Response | None = None
        unpack = _Unpacking("", self._most)
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                data = await reader.read(_CHUNK)
                if not data and head is None:
                    raise EOFError
                http.receive_data(data)
            elif isinstance(event, h11.Response):
                head = event
                headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in event.headers}
                unpack = _Unpacking(headers.get("content-encoding", ""), self._most)
            elif isinstance(event, h11.Data):
                if unpack.take(bytes(event.data)):
                    break
            elif not isinstance(event, h11.InformationalResponse):
                break
        assert head is not None
        return Fetched(url, head.status_code, headers, bytes(unpack.body), unpack.cut)


async def reach(
    place: BaseAddress,
    guard: Guard | None,
    resolve: Resolve,
    context: ssl.SSLContext | None = None,
    *,
    bare: bool = False,
) -> tuple[Streams, dict[str, str] | None]:
    """A connection to a place, judged by the guard: through the proxy that the environment names, if it names one.

    With the headers for the proxy where it is that which is spoken to; `bare` is a connection right to the place.
    """
    proxy = proxy_for(place, os.environ)
    try:
        addresses: Sequence[str] = await resolve(place.host, place.port)
    except (OSError, UnicodeError) as error:
        if not proxy:
            raise ToolFailed(f"{place.host}: no such host ({getattr(error, 'strerror', '') or error})") from None
        addresses = ()  # the proxy may know it
    if guard:
        guard.check(place.host, place.port, addresses)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            if proxy and bare:
                return await tunnel(proxy, place), None
            if proxy:
                return await reach_through(proxy, place, context)
            return await _reached(place, addresses, context), None
    except TimeoutError:
        raise ToolFailed(f"{place.authority}: no connection in {CONNECT_SECONDS:g} s") from None
    except (OSError, ValueError, EOFError) as error:
        why = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error)
        raise ToolFailed(f"{place.authority}: no connection ({why})") from None


async def _reached(place: BaseAddress, addresses: Sequence[str], context: ssl.SSLContext | None) -> Streams:
    """The first of the addresses that answers; never the name, which might by now lead elsewhere."""
    problem: OSError = OSError("it has no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(
                address, place.port, ssl=context, server_hostname=place.host if context else None
            )
        except OSError as error:
            problem = error
    raise problem


class _Unpacking:
    """A body as it comes, unpacked, up to so many bytes."""

    def __init__(self, encoding: str, most: int) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolFailed(f"the answer is packed with {encoding}, which was not asked for")
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
            raise ToolFailed("the answer is packed wrongly") from None


def place_at(url: str) -> BaseAddress:
    """Where an address leads; a ToolFailed if it is none that can be fetched."""
    try:
        parts = urlsplit(url.strip())
        tls = {"http": False, "https": True}[parts.scheme]
        host = parts.hostname or ""
        if not host.isascii():
            host = host.encode("idna").decode()
        port = parts.port or (443 if tls else 80)
        if not host or any(letter <= " " for letter in host):
            raise ValueError("it names no host")
        if parts.username or parts.password:
            raise ValueError("it holds a login")
    except KeyError:
        raise ToolFailed(f"{url}: an address that begins with http:// or https:// is wanted") from None
    except ValueError as error:
        raise ToolFailed(f"{url}: not an address that can be fetched ({error})") from None
    query = quote(parts.query, safe=_KEPT + "/")
    return BaseAddress(host, port, tls, quote(parts.path, safe=_KEPT) or "/", f"?{query}" if query else "", "web")
