"""The HTTP client against real sockets on loopback: keeping and closing connections, TLS, proxies, timeouts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from email.utils import formatdate
from pathlib import Path

import h11
import pytest

from quintet.adapters.http import client as http_client
from quintet.adapters.http import connection as http_connection
from quintet.adapters.http.client import HttpClient, Response, base_address
from quintet.adapters.http.connection import proxy_for
from quintet.domain.base.errors import ModelBadResponse, ModelError, ModelTimeout, ModelUnreachable
from tests.adapters.model_server import ModelServer, Reply

PLAIN = Reply(body='{"ok":1}', framing="length")

PROXY_VARIABLES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxy_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@contextlib.asynccontextmanager
async def client(base_url: str, idle: float = 60.0) -> AsyncIterator[HttpClient]:
    made = HttpClient(base_url, idle, "models.local")
    try:
        yield made
    finally:
        await made.close()


async def post(to: HttpClient, body: bytes = b"{}") -> bytes:
    async with to.post("/chat", {"content-type": "application/json"}, body) as response:
        assert response.status == 200
        return b"".join([data async for data in response])


async def post_once(base_url: str, idle: float = 60.0) -> bytes:
    async with client(base_url, idle) as to:
        return await post(to)


def test_posts_and_streams_the_answer() -> None:
    async def go() -> None:
        pieces = [b"one", b"two", b"three"]
        async with ModelServer([Reply(body=pieces)]) as server, client(server.base_url) as to:
            async with to.post("/chat", {"x-own": "1"}, b'{"a":1}') as response:
                assert response.headers["content-type"] == "text/event-stream"
                assert [data async for data in response] == pieces
            seen = server.requests[0]
            assert (seen.method, seen.target, seen.body) == ("POST", "/v1/chat", {"a": 1})
            assert seen.headers["host"] == f"127.0.0.1:{server.port}"
            assert seen.headers["x-own"] == "1"

    asyncio.run(go())


def test_a_large_body_goes_out_whole() -> None:
    async def go() -> None:
        async with ModelServer([PLAIN]) as server, client(server.base_url) as to:
            text = "x" * 3_000_000
            await post(to, f'"{text}"'.encode())
            assert server.requests[0].body == text

    asyncio.run(go())


def test_the_base_url_may_have_a_query_and_odd_characters() -> None:
    async def go() -> None:
        async with ModelServer([PLAIN]) as server, client(f"{server.base_url}/ä b/?api-version=1") as to:
            await post(to)
            assert server.requests[0].target == "/v1/%C3%A4%20b/chat?api-version=1"

    asyncio.run(go())


@pytest.mark.parametrize(
    "raw",
    [
        "HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\n\r\nok",
    ],
)
def test_other_shapes_of_http(raw: str) -> None:
    async def go() -> bytes:
        async with ModelServer([Reply(raw=raw, then="close")]) as server:
            return await post_once(server.base_url)

    assert asyncio.run(go()) == b"ok"


def test_a_connection_is_kept_for_the_next_request() -> None:
    async def go() -> None:
        async with ModelServer([PLAIN, Reply(body=[b"chunked"]), PLAIN]) as server, client(server.base_url) as to:
            assert [await post(to) for _ in range(3)] == [b'{"ok":1}', b"chunked", b'{"ok":1}']
            assert server.connections == 1

    asyncio.run(go())


def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    async def go() -> None:
        async with ModelServer([PLAIN]) as server, client(server.base_url) as to:
            assert await asyncio.gather(*(post(to) for _ in range(3))) == [b'{"ok":1}'] * 3
            assert server.connections == 3
            await post(to)
            assert server.connections == 3

    asyncio.run(go())


@pytest.mark.parametrize("ending", ["close", "reset"])
@pytest.mark.parametrize("pause", [0.0, 0.01])
def test_a_kept_connection_that_died_is_replaced(ending: str, pause: float) -> None:
    async def go() -> None:
        replies = [Reply(body="{}", framing="length", then=ending), PLAIN]
        async with ModelServer(replies) as server, client(server.base_url) as to:
            await post(to)
            await asyncio.sleep(pause)
            assert await post(to) == b'{"ok":1}'
            assert (server.connections, len(server.requests)) == (2, 2)

    asyncio.run(go())


def test_a_kept_connection_that_dies_under_a_request_is_replaced_once() -> None:
    async def go() -> None:
        hangs_up = Reply(only=0, then="close")
        async with ModelServer([PLAIN, hangs_up, PLAIN]) as server, client(server.base_url) as to:
            await post(to)
            assert await post(to) == b'{"ok":1}'
            assert server.connections == 2
        async with ModelServer([PLAIN, hangs_up]) as server, client(server.base_url) as to:
            await post(to)
            with pytest.raises(ModelUnreachable, match=f"127.0.0.1:{server.port} closed the connection"):
                await post(to)
            assert (server.connections, len(server.requests)) == (2, 3)

    asyncio.run(go())


def test_a_request_is_not_repeated_once_its_answer_has_begun() -> None:
    async def go() -> None:
        async with ModelServer([PLAIN, Reply(only=5, then="close")]) as server, client(server.base_url) as to:
            await post(to)
            with pytest.raises(ModelBadResponse, match="is incomplete"):
                await post(to)
            assert (server.connections, len(server.requests)) == (1, 2)

    asyncio.run(go())


@pytest.mark.parametrize("then", ["close", "keep"])
def test_words_nobody_asked_for_are_not_taken_for_an_answer(then: str) -> None:
    async def go() -> None:
        stray = "HTTP/1.1 408 Timeout\r\ncontent-length: 0\r\n\r\n"
        late = f"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok{stray}"
        async with ModelServer([Reply(raw=late, then=then), PLAIN]) as server, client(server.base_url) as to:
            assert await post(to) == b"ok"
            assert await post(to) == b'{"ok":1}'

    asyncio.run(go())


def test_an_old_connection_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        monkeypatch.setattr(http_connection, "KEEP_SECONDS", -1.0)
        async with ModelServer([PLAIN]) as server, client(server.base_url) as to:
            await post(to)
            await post(to)
            assert server.connections == 2

    asyncio.run(go())


def test_leaving_an_answer_early_closes_its_connection() -> None:
    async def go() -> None:
        async with ModelServer([Reply(text=["x"], only=150, then="hang")]) as server, client(server.base_url) as to:
            async with to.post("/chat", {}, b"{}") as response:
                async for _ in response:
                    break
            await asyncio.wait_for(server.all_closed(), 60)

    asyncio.run(go())


@pytest.mark.parametrize("only", [0, 10, 150])
def test_cancellation_closes_the_socket(only: int) -> None:
    async def go() -> None:
        async with ModelServer([Reply(text=["x"], only=only, then="hang")]) as server, client(server.base_url) as to:
            task = asyncio.create_task(post(to))
            await server.asked.wait()
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(server.all_closed(), 60)

    asyncio.run(go())


def test_closing_the_client_closes_its_connections() -> None:
    async def go() -> None:
        async with ModelServer([PLAIN]) as server:
            to = HttpClient(server.base_url, 60.0, "models.local")
            await post(to)
            async with to.post("/chat", {}, b"{}") as response:
                await to.close()
                assert await response.rest(60.0) == b'{"ok":1}'
            await asyncio.wait_for(server.all_closed(), 60)

    asyncio.run(go())


def fails(base_url: str, kind: type[ModelError], *words: str, retryable: bool) -> None:
    with pytest.raises(kind) as caught:
        asyncio.run(post_once(base_url))
    assert type(caught.value) is kind
    assert caught.value.retryable is retryable
    for word in words:
        assert word in str(caught.value)


def test_a_refused_connection() -> None:
    with contextlib.closing(free_port()) as held:
        port = held.getsockname()[1]
        fails(
            f"http://127.0.0.1:{port}", ModelUnreachable, f"127.0.0.1:{port}", "no server is listening", retryable=True
        )
        fails(
            f"http://localhost:{port}", ModelUnreachable, f"localhost:{port}", "no server is listening", retryable=True
        )


def free_port() -> socket.socket:
    """A port that is ours and that nobody listens on."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    return held


def test_a_host_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object, **__: object) -> None:  # no test asks a name server
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    fails("http://name.invalid/v1", ModelUnreachable, "name.invalid:80", "no such host", retryable=True)


@pytest.mark.parametrize(
    "url", ["", "localhost:80", "ftp://x", "http://", "http://x:99999", "http://[::1", "http://a..b", "http://a b"]
)
def test_an_address_that_is_none(url: str) -> None:
    fails(url, ModelUnreachable, "models.local.base_url", retryable=False)


def test_a_server_that_never_takes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "CONNECT_SECONDS", 0.05)
    with contextlib.closing(free_port()) as full:
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:  # fills the queue, so that the next connection gets no answer at all
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        fails(f"http://127.0.0.1:{full.getsockname()[1]}", ModelTimeout, "no connection", retryable=True)
        for one in waiting:
            one.close()


@pytest.mark.parametrize("only", [0, 10, 150])
def test_silence_is_a_timeout(only: int) -> None:
    async def go() -> None:
        async with ModelServer([Reply(text=["x"], only=only, then="hang")]) as server:
            with pytest.raises(ModelTimeout, match=r"sent nothing for 0\.05 s") as caught:
                await post_once(server.base_url, idle=0.05)
            assert "models.local.timeout" in str(caught.value)
            await asyncio.wait_for(server.all_closed(), 60)

    asyncio.run(go())


def test_a_server_that_does_not_read_is_silent_too() -> None:
    async def go() -> None:
        release = asyncio.Event()

        async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await release.wait()
            writer.close()

        async with serving(ignore) as port, client(f"http://127.0.0.1:{port}", idle=0.1) as to:
            with pytest.raises(ModelTimeout):
                await post(to, b"x" * 30_000_000)
            release.set()

    asyncio.run(go())


def test_idle_counts_silence_and_not_the_whole_answer() -> None:
    async def go(idle: float) -> bytes:
        async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            for byte in b"HTTP/1.0 200 OK\r\n\r\nslow":
                writer.write(bytes([byte]))
                await asyncio.sleep(idle / 20)
            writer.close()

        async with serving(drip) as port:
            return await post_once(f"http://127.0.0.1:{port}", idle)

    for idle in (0.4, 4.0, 40.0):  # the first is enough, unless the machine is very busy
        with contextlib.suppress(ModelTimeout):
            assert asyncio.run(go(idle)) == b"slow"
            return
    raise AssertionError("given up, though the server was never silent for long")


@contextlib.asynccontextmanager
async def serving(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize(
    "raw", ["SSH-2.0-OpenSSH_9\r\n", b"\x00\xff\x15\x03\x01" * 50, "HTTP/9 what\r\n\r\n", "<html>\r\n\r\n"]
)
def test_what_is_not_http(raw: str | bytes) -> None:
    async def go() -> None:
        async with ModelServer([Reply(raw=raw)]) as server:
            with pytest.raises(
                ModelBadResponse, match=r"does not answer with HTTP.*\n.*models\.local\.base_url"
            ) as caught:
                await post_once(server.base_url)
            assert not caught.value.retryable
            assert len(str(caught.value)) < 400

    asyncio.run(go())


def test_headers_without_end_are_not_read_for_ever() -> None:
    async def go() -> None:
        async with ModelServer([Reply(raw="HTTP/1.1 200 OK\r\n" + "x-more: y\r\n" * 100_000)]) as server:
            with pytest.raises(ModelBadResponse):
                await post_once(server.base_url)

    asyncio.run(go())


@pytest.mark.parametrize("framing", ["chunked", "length"])
@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_cut_answer_is_worth_another_try(framing: str, ending: str) -> None:
    async def go() -> None:
        reply = Reply(body=[b"x" * 1000], framing=framing, only=300, then=ending)
        async with ModelServer([reply]) as server:
            with pytest.raises(ModelBadResponse, match="is incomplete") as caught:
                await post_once(server.base_url)
            assert caught.value.retryable

    asyncio.run(go())


def test_a_reset_is_no_end_even_where_the_end_is_the_close() -> None:
    async def go() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.0 200 OK\r\n\r\nhalf")
            await asyncio.sleep(0.02)  # so that the client has read it before the reset
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

        async with serving(handle) as port:
            with pytest.raises(ModelBadResponse, match="is incomplete"):
                await post_once(f"http://127.0.0.1:{port}")

    asyncio.run(go())


def test_the_rest_of_an_answer_is_bounded() -> None:
    async def rest(reply: Reply, seconds: float) -> bytes:
        async with (
            ModelServer([reply]) as server,
            client(server.base_url) as to,
            to.post("/chat", {}, b"{}") as response,
        ):
            return await response.rest(seconds)

    long = Reply(body=[b"x" * 10_000] * 50, only=100_000, then="hang")
    assert asyncio.run(asyncio.wait_for(rest(long, 600.0), 60.0)) == b"x" * 65_536
    assert asyncio.run(rest(Reply(body=[b"x" * 100], only=200, then="close"), 60.0)).startswith(b"xxx")
    assert asyncio.run(rest(Reply(body=[b"x" * 100], only=200, then="hang"), 0.05)).startswith(b"xxx")


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("1.5", 1.5), ("0", 0.0), ("9" * 400, 86_400.0)])
def test_retry_after_a_number(value: str, seconds: float) -> None:
    assert answered_with(value).retry_after == seconds


def test_retry_after_a_date() -> None:
    wait = answered_with(formatdate(time.time() + 30, usegmt=True)).retry_after
    assert wait is not None
    assert 25 < wait <= 30
    assert answered_with(formatdate(time.time() - 30, usegmt=True)).retry_after == 0.0


@pytest.mark.parametrize("value", ["", "soon", "²", "-5", "inf", "nan", "1.2.3", "Mon, 99 Foo 2020 00:00:00 GMT"])
def test_retry_after_that_says_nothing(value: str) -> None:
    assert answered_with(value).retry_after is None


def answered_with(value: str) -> Response:
    head = h11.Response(status_code=429, headers=[(b"Retry-After", value.encode("latin-1"))])
    return Response(None, head)  # type: ignore[arg-type]


@pytest.mark.system("openssl")
def test_tls_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = server_context(tmp_path)

    async def go() -> None:
        async with ModelServer([PLAIN], context) as server:
            with pytest.raises(ModelUnreachable, match=r"certificate of 127\.0\.0\.1:.*not trusted") as caught:
                await post_once(server.base_url)
            assert not caught.value.retryable
            assert not server.requests
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
            async with client(server.base_url) as to:
                assert [await post(to), await post(to)] == [b'{"ok":1}'] * 2
                assert server.connections == 1

    asyncio.run(go())


def server_context(folder: Path) -> ssl.SSLContext:
    """A fresh self-signed certificate for 127.0.0.1 and model.test."""
    made = folder / "certificate.pem"
    names = "subjectAltName=IP:127.0.0.1,DNS:model.test"
    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    files = ["-subj", "/CN=quintet test", "-addext", names, "-keyout", str(folder / "key.pem"), "-out", str(made)]
    subprocess.run(["openssl", *new, *files], check=True, capture_output=True)
    made.write_text(made.read_text() + (folder / "key.pem").read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem")
    return context


def test_https_to_a_server_that_speaks_plain_http() -> None:
    async def go() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10_000)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        async with serving(handle) as port:
            with pytest.raises(ModelUnreachable, match=rf"no connection to 127\.0\.0\.1:{port}: .*SSL"):
                await post_once(f"https://127.0.0.1:{port}")

    asyncio.run(go())


@contextlib.asynccontextmanager
async def proxy_to(port: int, seen: list[str], refuse: bytes = b"") -> AsyncIterator[int]:
    """A tiny proxy that sends everything to one port here and notes the heads of what it is asked."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            seen.append(head.decode())
            if refuse:
                writer.write(refuse)
            else:
                back, forth = await asyncio.open_connection("127.0.0.1", port)
                if head.startswith(b"CONNECT "):
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    forth.write(head)
                await asyncio.gather(pump(reader, forth), pump(back, writer))
        writer.close()

    handling: list[asyncio.Task[None]] = []

    async def noted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handling.append(asyncio.create_task(handle(reader, writer)))
        await handling[-1]

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
        writer.close()

    async with serving(noted) as own:
        yield own
        await asyncio.gather(*handling, return_exceptions=True)  # the pumps see that both ends are gone


def test_plain_http_goes_through_the_proxy_in_absolute_form(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        seen: list[str] = []
        async with ModelServer([PLAIN]) as server, proxy_to(server.port, seen) as port:
            monkeypatch.setenv("HTTP_PROXY", f"http://us%65r:p%40ss@127.0.0.1:{port}")
            async with client("http://model.test/v1") as to:
                assert [await post(to), await post(to)] == [b'{"ok":1}'] * 2
            assert [request.target for request in server.requests] == ["http://model.test/v1/chat"] * 2
            assert server.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"
            assert len(seen) == 1

    asyncio.run(go())


@pytest.mark.system("openssl")
def test_https_goes_through_a_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = server_context(tmp_path)

    async def go() -> None:
        seen: list[str] = []
        async with ModelServer([PLAIN], context) as server, proxy_to(server.port, seen) as port:
            monkeypatch.setenv("https_proxy", f"127.0.0.1:{port}")
            with pytest.raises(ModelUnreachable, match="not trusted"):
                await post_once("https://model.test/v1")
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
            async with client("https://model.test/v1") as to:
                assert [await post(to), await post(to)] == [b'{"ok":1}'] * 2
            assert [request.target for request in server.requests] == ["/v1/chat"] * 2
            assert server.requests[0].headers["host"] == "model.test"
            assert "authorization" not in server.requests[0].headers
            assert [head.split("\r\n")[0] for head in seen] == ["CONNECT model.test:443 HTTP/1.1"] * 2

    asyncio.run(go())


@pytest.mark.parametrize("answer", [b"HTTP/1.1 407 Who are you\r\n\r\n", b"HTTP/1.1 502 No\r\n\r\n", b"\r\n\r\n", b"x"])
def test_a_proxy_that_refuses(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        async with proxy_to(0, [], refuse=answer) as port:
            monkeypatch.setenv("HTTPS_PROXY", f"http://user:secret@127.0.0.1:{port}")
            with pytest.raises(ModelUnreachable, match=f"model.test:443 through the proxy 127.0.0.1:{port}") as caught:
                await post_once("https://model.test/v1")
            assert "secret" not in str(caught.value)

    asyncio.run(go())


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "https://127.0.0.1:1", "http://", "http://127.0.0.1:99999"])
def test_a_proxy_that_cannot_be_used(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    fails("http://model.test/v1", ModelUnreachable, "proxy", retryable=True)


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        ("http://a.test", {}, None),
        ("http://a.test", {"HTTP_PROXY": "http://p:1"}, "p:1"),
        ("http://a.test", {"HTTP_PROXY": "http://p:1", "http_proxy": "q:2"}, "q:2"),
        ("http://a.test", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://a.test", {"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://q:2"}, "p:1"),
        ("http://localhost:11434", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://x.localhost", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://127.0.0.1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://127.9.9.9", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://[::1]:80", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://a.test", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("http://a.test", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "b.test, a.test"}, None),
        ("http://x.A.test", {"HTTP_PROXY": "http://p:1", "no_proxy": "a.test"}, None),
        ("http://x.a.test", {"HTTP_PROXY": "http://p:1", "no_proxy": ".a.test"}, None),
        ("http://x.a.test", {"HTTP_PROXY": "http://p:1", "no_proxy": "*.a.test"}, None),
        ("http://xa.test", {"HTTP_PROXY": "http://p:1", "no_proxy": "a.test"}, "p:1"),
        ("http://a.test:81", {"HTTP_PROXY": "http://p:1", "no_proxy": "a.test:81"}, None),
        ("http://a.test:82", {"HTTP_PROXY": "http://p:1", "no_proxy": "a.test:81,,"}, "p:1"),
    ],
)
def test_which_proxy(url: str, environ: dict[str, str], expected: str | None) -> None:
    proxy = proxy_for(base_address(url, "models.local"), environ)
    assert (proxy and proxy.netloc) == expected


def test_importing_it_is_cheap() -> None:
    wires = "quintet.adapters.models.chat_completions, quintet.adapters.models.anthropic"
    code = f"import asyncio, sys; import {wires}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    )
    heavy = {"httpx", "urllib.request", "http.client", "email.utils", "json", "requests"}
    assert not heavy & set(loaded.stdout.split())
