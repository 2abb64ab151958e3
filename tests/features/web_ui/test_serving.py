"""Connections that take too little of what waits for them are dropped; one that takes it slowly is not."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import Receive, Scope, Send

from quintet.features.web_ui.serving import LEAST_TAKEN, MOST_IDLE, MOST_SILENT, PatientProtocol, Taking, bound

PIECE = b"x" * 1_000_000


def test_a_client_that_takes_nothing_is_dropped_after_some_looks() -> None:
    taking = Taking()
    assert [taking.look(100_000) for _ in range(MOST_IDLE)] == [False] * (MOST_IDLE - 1) + [True]


def test_a_client_that_takes_a_few_bytes_only_is_dropped_too() -> None:
    taking = Taking(waits=100_000)
    assert [taking.look(100_000 - 100 * look) for look in range(1, MOST_IDLE + 1)][-1]


def test_a_client_that_is_slow_but_takes_it_is_kept() -> None:
    taking = Taking()
    for look in range(20):
        assert not taking.look(1_000_000 - look * LEAST_TAKEN)
    for _ in range(20):
        taking.drained = True  # all of it was taken, and as much was written again
        assert not taking.look(100_000)
    assert not any(taking.look(0) for _ in range(20))


class Hasty(PatientProtocol):
    look_seconds = 0.05
    silent_seconds = 0.0


class Patient(PatientProtocol):
    silent_seconds = 60.0


async def short(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


async def streamed(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(100):  # more than the buffers of a connection hold
        await send({"type": "http.response.body", "body": PIECE, "more_body": True})
    await send({"type": "http.response.body"})


async def at_once(scope: Scope, receive: Receive, send: Send) -> None:
    """One big answer, after which the connection is to be closed."""
    length = str(8 * len(PIECE)).encode()
    headers = [(b"content-length", length), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": PIECE * 8})


@asynccontextmanager
async def served(app: object, protocol: type[PatientProtocol] = Hasty) -> AsyncIterator[tuple[uvicorn.Server, int]]:
    listening = bound("127.0.0.1", 0)
    settings = uvicorn.Config(app, http=protocol, ws="none", lifespan="off", log_level="critical")  # type: ignore[arg-type]
    server = uvicorn.Server(settings)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield server, listening.getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def _dropped(app: object) -> None:
    async with served(app) as (server, port), asyncio.timeout(60):
        loop = asyncio.get_running_loop()
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", port))
        await loop.sock_sendall(client, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: bool(server.server_state.connections))
        await until(lambda: not server.server_state.connections)
        client.close()


def test_connections_that_say_nothing_leave_room_for_those_that_do() -> None:
    async def script() -> None:
        async with served(at_once) as (server, port), asyncio.timeout(60):
            opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_SILENT + 20)]
            assert await opened[0][0].read() == b""  # the oldest are gone
            assert len(server.server_state.connections) <= MOST_SILENT
            opened[-1][1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b" 200 " in await opened[-1][0].readline()
            for _, writer in opened:
                writer.transport.abort()

    asyncio.run(script())


def test_many_that_connect_at_once_are_all_heard() -> None:
    """As pages do that come back after a restart: none has said anything yet when the last one connects."""

    async def script() -> None:
        async with served(short, Patient) as (_, port), asyncio.timeout(60):
            opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_SILENT + 50)]
            for _, writer in opened:
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            lines = [await reader.readline() for reader, _ in opened]
            for _, writer in opened:
                writer.transport.abort()
            assert all(b" 200 " in line for line in lines)

    asyncio.run(script())


async def until(there: Callable[[], bool]) -> None:
    while not there():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0.01)


def test_who_does_not_read_a_stream_loses_the_connection() -> None:
    asyncio.run(_dropped(streamed))


def test_who_does_not_read_the_last_answer_loses_the_connection_too() -> None:
    asyncio.run(_dropped(at_once))
