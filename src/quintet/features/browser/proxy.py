"""The browser's only way to other machines: a SOCKS proxy of our own on loopback.

The browser asks it for every host by its name, whatever wants it: a page, a part of one, a redirect, a worker, a
WebSocket. Each is judged as a page that is fetched is: looked up once, and the address that was judged is the one
connected to. Loopback is refused like any private address, but for what the user allowed and what the session itself
serves. What is allowed of it by name does not come this way; pages that did count as everybody's to the browser, which
then keeps them from loopback itself.

It is for the pages that are given it. The browser itself and pages of the project get proxies that lead nowhere, this
machine included; so whatever is not given a network has none, by whatever means it asks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

from quintet.adapters.http.connection import HttpAddress
from quintet.adapters.http.fetch import Guard, Resolve, Served, reach
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.private_hosts import loopback_among, names_of_loopback
from quintet.features.browser.project_pages import HOST as PROJECT

if TYPE_CHECKING:
    from playwright.async_api import ProxySettings

HOST = "127.0.0.1"
SCHEME = "socks5://"
NO_BYPASS = "<-loopback>"  # without it a browser goes to loopback and link-local addresses by itself
OWN_HOSTS = ("update.googleapis.com", "content-autofill.googleapis.com")  # what Chromium itself calls; no page does
WEBRTC_POLICY = ("webrtc-ip-handling-policy", "force-webrtc-ip-handling-policy")  # its name, now and in the past
GREETING_SECONDS = 10.0
MOST_PROBLEMS = 100
MOST_TOLD = 10
VERSION, NO_LOGIN, CONNECT, IPV4, NAME, IPV6 = 5, 0, 1, 1, 3, 4  # of SOCKS, RFC 1928
DONE, NO_HOST = 0, 4
PLAIN_PORT = 80
OWN_CALLS = "requests of the browser itself are blocked"
NO_NETWORK = "a page of the project has no network"
OTHER_WAYS = "browser_navigate opens an address; with network, also a page of the project with network access"
_CHUNK = 65_536


class WayOut:
    def __init__(self, allow_hosts: Sequence[str], resolve: Resolve, served: Served = tuple) -> None:
        """`served` gives the ports of loopback that the session itself serves."""
        self._allow = tuple(allow_hosts)
        self._served = served
        self._resolve = resolve
        self._servers: list[asyncio.Server] = []  # the way out, and two that lead nowhere
        self._links: set[asyncio.Task[None]] = set()
        self._problems: dict[str, str] = {}  # by host
        self._untold: dict[str, str] = {}  # those of hosts that were refused

    async def flags(self) -> list[str]:
        """Open it; returns what makes a Chromium go no other way, and this one only where it is told so."""
        refusals = (None, ToolFailed(NO_NETWORK, hint=OTHER_WAYS), ToolFailed(OWN_CALLS))
        self._servers = [await asyncio.start_server(partial(self._taken, why=why), HOST, 0) for why in refusals]
        near = ",".join(f"EXCLUDE {host}" for host in names_of_loopback(self._allow))
        return [
            f"--proxy-server={_address(self._servers[2])}",
            f"--proxy-bypass-list={NO_BYPASS}",
            f"--ip-address-space-overrides={_address(self._servers[0]).removeprefix(SCHEME)}=public",
            f"--host-resolver-rules=MAP * ~NOTFOUND,{near}",
            *(f"--{name}=disable_non_proxied_udp" for name in WEBRTC_POLICY),
        ]

    def proxy(self, network: bool) -> ProxySettings:
        """What sends pages this way, or nowhere, in the words of Playwright."""
        beside = loopback_among(self._allow) if network else ()
        server = self._servers[0 if network else 1]
        return {"server": _address(server), "bypass": ",".join((NO_BYPASS, *beside))}

    def problem(self, host: str) -> str:
        """Why a host was not reached when it was last tried; empty if it was."""
        self._untold.pop(host, None)
        return self._problems.get(host, "")

    def refused(self) -> list[str]:
        """What was refused and nobody has been told of yet."""
        untold, self._untold = list(self._untold.values()), {}
        return untold

    def close(self) -> None:
        for server in self._servers:
            server.close()
        self._servers = []
        for link in self._links:
            link.cancel()

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, why: ToolFailed | None) -> None:
        link = asyncio.current_task()
        assert link
        self._links.add(link)
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError):
                await self._linked(reader, writer, why)
        finally:
            self._links.discard(link)
            writer.transport.abort()

    async def _linked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, why: ToolFailed | None) -> None:
        async with asyncio.timeout(GREETING_SECONDS):
            host, port = await _asked(reader, writer)
        address = HttpAddress(host, port, port != PLAIN_PORT)
        try:
            if why:  # not told where it is the project itself, of which sockets and service workers get nothing
                raise ToolFailed(f"{host}: {why.message}", hint=why.hint if host != PROJECT else "")
            if host in OWN_HOSTS:
                raise ToolFailed(f"{host}: {OWN_CALLS}")
            (from_there, to_there), _ = await reach(address, self._guard(), self._resolve, bare=True)
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


def _address(server: asyncio.Server) -> str:
    return f"{SCHEME}{HOST}:{server.sockets[0].getsockname()[1]}"


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
