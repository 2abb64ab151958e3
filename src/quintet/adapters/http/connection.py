"""HTTP/1.1 as a client speaks it, over asyncio streams and h11: where an address leads, the way there, one connection.

What goes wrong is raised as it is: TimeoutError, OSError and EOFError for a line that is silent or broke, h11's errors
for what is not HTTP. Whoever asks has words of their own for it.
"""

from __future__ import annotations

import asyncio
import binascii
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

import h11

CONNECT_SECONDS = 10.0  # name lookup, TCP, proxy and TLS together
KEEP_SECONDS = 60.0  # routers forget silent connections, and a forgotten one would cost a whole idle timeout
HEADER_BYTES = 32_768
_CHUNK = 65_536
AT_ONCE = 50  # pieces of an answer, however small and ready, before others on the loop have their turn
_KEPT = "/%:@!$&'()*+,;=~?"  # what needs no quoting
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class HttpAddress(NamedTuple):
    """Where a URL leads."""

    host: str
    port: int
    tls: bool
    path: str = ""
    query: str = ""  # with its question mark

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(url: str) -> HttpAddress:
    """The address of a URL; a KeyError if its scheme is another, a ValueError if it is none."""
    parts = urlsplit(url.strip())
    tls = {"http": False, "https": True}[parts.scheme]
    host = parts.hostname or ""
    if not (host.isascii() and host.replace(".", "").isdigit()):  # a number needs no codec
        host = host.encode("idna").decode()
    port = parts.port or (443 if tls else 80)
    if not host or any(letter <= " " for letter in host):
        raise ValueError("it names no host")
    query = quote(parts.query, safe=_KEPT)
    return HttpAddress(host, port, tls, quote(parts.path, safe=_KEPT), f"?{query}" if query else "")


def proxy_for(address: HttpAddress, environ: Mapping[str, str]) -> SplitResult | None:
    """The proxy the environment names for an address. The lower-case variable wins, as with curl."""
    name = "https_proxy" if address.tls else "http_proxy"
    url = environ.get(name) or environ.get(name.upper())
    host = address.host.lower()
    if not url or host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127."):
        return None
    for entry in (environ.get("no_proxy") or environ.get("NO_PROXY") or "").lower().split(","):
        suffix = entry.strip().removeprefix("*").lstrip(".")
        if entry.strip() == "*" or suffix == address.authority or (suffix and f".{host}".endswith(f".{suffix}")):
            return None
    return urlsplit(url if "://" in url else f"http://{url}")


async def tls_context() -> ssl.SSLContext:
    return await asyncio.to_thread(ssl.create_default_context)  # reading the trusted certificates takes 50 ms


async def reach_through(
    proxy: SplitResult, address: HttpAddress, context: ssl.SSLContext | None
) -> tuple[Streams, dict[str, str] | None]:
    """A way through a proxy: a tunnel for TLS; otherwise the proxy itself and the headers it is to have."""
    if context is None:
        return await _at(proxy)
    reader, writer = await tunnel(proxy, address)
    try:
        await writer.start_tls(context, server_hostname=address.host)
    except BaseException:
        writer.transport.abort()
        raise
    return (reader, writer), None


async def tunnel(proxy: SplitResult, address: HttpAddress) -> Streams:
    """A connection to an address that a proxy makes, for whatever is to be said there."""
    (reader, writer), fields = await _at(proxy)
    try:
        head = [f"CONNECT {address.authority} HTTP/1.1", f"host: {address.authority}"]
        head += [f"{name}: {value}" for name, value in fields.items()]
        writer.write("\r\n".join([*head, "", ""]).encode())
        status = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0]
        if not status.partition(b" ")[2].startswith(b"2"):
            raise ConnectionError(f"the proxy answered {status[:100]!r}")
    except BaseException:
        writer.transport.abort()
        raise
    return reader, writer


async def _at(proxy: SplitResult) -> tuple[Streams, dict[str, str]]:
    """A connection to the proxy itself, and the headers it is to have."""
    if proxy.scheme != "http" or not proxy.hostname:
        raise ValueError("only http:// proxies are supported")
    login = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}".encode()
    token = binascii.b2a_base64(login, newline=False).decode()
    fields = {"proxy-authorization": f"Basic {token}"} if proxy.username else {}
    return await asyncio.open_connection(proxy.hostname, proxy.port or 80), fields


class Connection:
    """One connection to an address.

    `proxy` holds the headers for a proxy that reads our requests, None where none does; `idle` is the longest silence
    borne, in seconds, None for any.
    """

    def __init__(
        self, streams: Streams, proxy: dict[str, str] | None, address: HttpAddress, idle: float | None = None
    ) -> None:
        self._reader, self._writer = streams
        self.address = address
        self.idle = idle
        self._proxy = proxy
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEADER_BYTES)
        self.answered = False  # a byte of the answer has come
        self._has_head = False
        self._events = 0
        self._parked_at: float | None = None

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> h11.Response:
        """Send a request for a path below the address, and wait for the head of its answer."""
        address = self.address
        host = address.authority.removesuffix(":443" if address.tls else ":80")  # some servers know no host with a port
        target = ("" if self._proxy is None else f"http://{host}") + address.path + path + address.query
        own = {"host": host}
        if body or method != "GET":
            own["content-length"] = str(len(body))
        fields = list({**own, **(self._proxy or {}), **headers}.items())
        try:
            if await self._is_stale():
                raise EOFError
            head = self._http.send(h11.Request(method=method, target=target, headers=fields)) or b""
            await self._send(head + (self._http.send(h11.Data(data=body)) or b"" if body else b""))
            self._http.send(h11.EndOfMessage())
            event = await self.event()
            assert isinstance(event, h11.Response)
            return event
        except BaseException:
            self.drop()
            raise

    async def event(self) -> h11.Event:
        """The next piece of the answer: its head, data, or the end."""
        self._events += 1
        if self._events % AT_ONCE == 0:
            await asyncio.sleep(0)
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._read())
            elif isinstance(event, h11.Event) and not isinstance(event, h11.InformationalResponse):
                self._has_head = True
                return event

    @property
    def at_end(self) -> bool:
        """Whether the other side has hung up."""
        return self._reader.at_eof()

    async def _read(self) -> bytes:
        async with asyncio.timeout(self.idle):
            data = await self._reader.read(_CHUNK)
        if not data and not self._has_head:
            raise EOFError
        if not self.answered and not data.startswith(b"HTTP/"[: len(data)]):  # h11 would wait for the end of a head
            raise h11.RemoteProtocolError(f"it says {data[:20]!r}")
        self.answered = True
        return data

    async def _send(self, data: bytes) -> None:
        for start in range(0, len(data), _CHUNK):  # in pieces, so that a slow line is not taken for a silent one
            async with asyncio.timeout(self.idle):
                self._writer.write(data[start : start + _CHUNK])
                await self._writer.drain()

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
        return True  # the end, or data without a request

    def park(self) -> bool:
        """Make ready for another request, if this answer is complete and the server agrees."""
        if not (self._http.our_state is self._http.their_state is h11.DONE) or self._http.trailing_data[0]:
            return False
        self._http.start_next_cycle()
        self.answered = self._has_head = False
        self._parked_at = asyncio.get_running_loop().time()
        return True

    def drop(self) -> None:
        self._writer.transport.abort()
