"""The browser's way to other machines, as a browser uses it: SOCKS 5 on loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from quintet.adapters.http.fetch import Resolve
from quintet.features.browser.proxy import WayOut

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
REFUSED = b"\x05\x04\x00\x01" + bytes(6)
MADE = b"\x05\x00\x00\x01" + bytes(6)


def with_way_out(
    use: Callable[[WayOut, int], Awaitable[None]], resolve: Resolve, allow: Sequence[str] = ("127.0.0.1/32",)
) -> None:
    async def main() -> None:
        way_out = WayOut(allow, resolve)
        await way_out.flags()
        try:
            await asyncio.wait_for(use(way_out, int(way_out.proxy(network=True)["server"].rpartition(":")[2])), 60)
        finally:
            way_out.close()

    asyncio.run(main())


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def asked(streams: Streams, host: str, to: int) -> bytes:
    """The answer to a browser that wants a connection."""
    reader, writer = streams
    writer.write(b"\x05\x01\x00")
    assert await reader.readexactly(2) == b"\x05\x00"
    name = host.encode()
    writer.write(b"\x05\x01\x00\x03" + bytes((len(name),)) + name + to.to_bytes(2, "big"))
    return await reader.readexactly(10)


async def echoing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write((await reader.read()).upper())
    await writer.drain()
    writer.close()


def test_a_name_is_looked_up_once_and_judged_at_every_connection() -> None:
    leads = iter((["127.0.0.1"], ["10.0.0.1"]))

    async def resolve(host: str, port: int) -> Sequence[str]:
        return next(leads)

    async def use(way_out: WayOut, port: int) -> None:
        server = await asyncio.start_server(echoing, "127.0.0.1", 0)
        to = server.sockets[0].getsockname()[1]
        async with connection(port) as (reader, writer):
            assert await asked((reader, writer), "turning.test", to) == MADE
            writer.write(b"tea" * 100_000)
            writer.write_eof()
            assert await reader.read() == b"TEA" * 100_000, "to the end, after our side has ended"
        async with connection(port) as streams:
            assert await asked(streams, "turning.test", to) == REFUSED
        assert "turning.test leads to 10.0.0.1, which is a private address" in way_out.refused()[0]
        assert way_out.refused() == []
        server.close()

    with_way_out(use, resolve)


def test_the_proxy_of_the_environment_is_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await echoing(reader, writer)

    async def resolve(host: str, port: int) -> Sequence[str]:
        raise OSError("only the proxy knows")

    async def use(way_out: WayOut, port: int) -> None:
        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        monkeypatch.setenv("https_proxy", f"http://ada:tea@127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with connection(port) as (reader, writer):
            assert await asked((reader, writer), "far.test", 443) == MADE
            writer.write(b"hello")
            writer.write_eof()
            assert await reader.read() == b"HELLO"
        assert heads[0].startswith(b"CONNECT far.test:443 HTTP/1.1\r\n") and b"Basic YWRhOnRlYQ==" in heads[0]
        server.close()

    with_way_out(use, resolve, allow=())


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x05\x01\x00\x05\x02\x00\x01" + bytes(6), b"\x05"])
def test_what_does_not_speak_as_a_browser_does_is_let_go(sent: bytes) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise AssertionError("nothing is to be looked up")

    async def use(way_out: WayOut, port: int) -> None:
        async with connection(port) as (reader, writer):
            writer.write(sent)
            writer.write_eof()
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() in (b"", b"\x05\x00")

    with_way_out(use, resolve)


def test_a_browser_that_is_given_nothing_goes_nowhere() -> None:
    """Its own proxy and that of the project's pages refuse all; only what it says of the latter is told."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        raise AssertionError("nothing is to be looked up")

    async def use(way_out: WayOut, port: int) -> None:
        shut = [server.sockets[0].getsockname()[1] for server in way_out._servers[1:]]
        assert str(shut[0]) in way_out.proxy(network=False)["server"]
        for place in shut:
            for host in ("127.0.0.1", "localhost", "far.test"):
                async with connection(place) as streams:
                    assert await asked(streams, host, 80) == REFUSED
        told = way_out.refused()
        assert len(told) == 3 and all("a page of the project has no network" in one for one in told)

    with_way_out(use, resolve, allow=("127.0.0.1", "localhost", "far.test"))
