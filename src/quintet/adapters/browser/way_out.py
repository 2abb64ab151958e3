"""The browser's only way to other machines: a SOCKS proxy of our own on loopback.

The browser asks it for every host by its name, whatever wants it: a page, a part of one, a redirect, a worker, a
WebSocket. Each is judged as a page that is fetched is: looked up once, and the address that was judged is the one
connected to. Loopback is refused like any private address, but for what the user allowed and what the session itself
serves. What is allowed of it by name does not come this way; pages that did count as everybody's to the browser, which
then keeps them from loopback itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from ipaddress import ip_address

from quintet.adapters.addresses import Place
from quintet.adapters.web_fetch import Guard, Resolve, Served, reach
from quintet.domain.errors import ToolFailed
from quintet.domain.web_addresses import loopback_among

HOST = "127.0.0.1"
OWN_HOSTS = ("update.googleapis.com", "content-autofill.googleapis.com")  # what Chromium itself calls; no page does
LOOPBACK = ("localhost", "*.localhost", "127.*", "[::1]")
WEBRTC_POLICY = ("webrtc-ip-handling-policy", "force-webrtc-ip-handling-policy")  # its name, now and in the past
GREETING_SECONDS = 10.0
MOST_PROBLEMS = 100
MOST_TOLD = 10
VERSION, NO_LOGIN, CONNECT, IPV4, NAME, IPV6 = 5, 0, 1, 1, 3, 4  # of SOCKS, RFC 1928
DONE, NO_HOST = 0, 4
PLAIN_PORT = 80
_CHUNK = 65_536


class WayOut:
    def __init__(self, allow_hosts: Sequence[str], resolve: Resolve, served: Served = tuple) -> None:
        """`served` gives the ports of loopback that the session itself serves."""
        self._allow = tuple(allow_hosts)
        self._served = served
        self._resolve = resolve
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()
        self._problems: dict[str, str] = {}  # by host
        self._untold: dict[str, str] = {}  # those of hosts that were refused

    async def flags(self) -> list[str]:
        """Open it; returns what makes a Chromium go no other way."""
        self._server = await asyncio.start_server(self._taken, HOST, 0)
        own = f"{HOST}:{self._server.sockets[0].getsockname()[1]}"
        beside = ";".join(("<-loopback>", *loopback_among(self._allow)))  # by itself it would let more by
        return [
            f"--proxy-server=socks5://{own}",
            f"--proxy-bypass-list={beside}",
            f"--ip-address-space-overrides={own}=public",
            f"--host-resolver-rules=MAP * ~NOTFOUND,{','.join(f'EXCLUDE {host}' for host in LOOPBACK)}",
            *(f"--{name}=disable_non_proxied_udp" for name in WEBRTC_POLICY),
        ]

    def problem(self, host: str) -> str:
        """Why a host was not reached when it was last tried; empty if it was."""
        self._untold.pop(host, None)
        return self._problems.get(host, "")

    def refused(self) -> list[str]:
        """What was refused and nobody has been told of yet."""
        untold, self._untold = list(self._untold.values()), {}
        return untold

    def close(self) -> None:
        if self._server:
            self._server.close()
            self._server = None
        for link in self._links:
            link.cancel()

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link
        self._links.add(link)
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError):
                await self._linked(reader, writer)
        finally:
            self._links.discard(link)
            writer.transport.abort()

    async def _linked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(GREETING_SECONDS):
            host, port = await _asked(reader, writer)
        place = Place(host, port, port != PLAIN_PORT, "", "", "browser")
        try:
            if host in OWN_HOSTS:
                raise ToolFailed(f"{host}: the browser's own calls are not let out")
            (from_there, to_there), _ = await reach(place, self._guard(), self._resolve, bare=True)
        except ToolFailed as error:
            self._failed(host, error)
            writer.write(_reply(NO_HOST))
            await writer.drain()
            return
        self._problems.pop(host, None)
        try:
            writer.write(_reply(DONE))
            await asyncio.gather(_passed_on(reader, to_there), _passed_on(from_there, writer))
        finally:
            to_there.transport.abort()

    def _guard(self) -> Guard:
        own = [f"{host}:{port}" for port in self._served() for host in (HOST, "localhost")]
        return Guard((*self._allow, *own))

    def _failed(self, host: str, error: ToolFailed) -> None:
        if len(self._problems) >= MOST_PROBLEMS:
            self._problems.clear()
        if error.hint and len(self._untold) < MOST_TOLD:  # it was refused, and the user can change that
            self._untold[host] = "; ".join(str(error).splitlines())
        self._problems[host] = str(error)


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int]:
    """The host and port that a connection is wanted to; an EOFError if it is not asked for as SOCKS 5 has it."""
    version, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    if version != VERSION:
        raise EOFError
    writer.write(bytes((VERSION, NO_LOGIN)))
    version, command, _, kind = await reader.readexactly(4)
    if (version, command) != (VERSION, CONNECT) or kind not in (IPV4, IPV6, NAME):
        raise EOFError
    length = (await reader.readexactly(1))[0] if kind == NAME else 4 if kind == IPV4 else 16
    host = await reader.readexactly(length)
    port = int.from_bytes(await reader.readexactly(2), "big")
    return host.decode("ascii", "replace") if kind == NAME else str(ip_address(host)), port


def _reply(status: int) -> bytes:
    return bytes((VERSION, status, 0, IPV4, *bytes(6)))


async def _passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
