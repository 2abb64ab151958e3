"""A loopback HTTP server for tests: a function from a request to an answer, in a thread, with a record of what came."""

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Asked:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    body: bytes | str | list[Any] | dict[str, Any] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    packed: bool = False


@dataclass
class Server:
    port: int
    asked: list[Asked]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]


class HttpServer(ThreadingHTTPServer):
    """One that knows its connections from the moment it takes them."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.connections: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def hang_up(self) -> None:
        for connection in self.connections:
            with suppress(OSError):  # it is closed
                connection.shutdown(socket.SHUT_RD)  # one that is kept open has no more to say


@contextmanager
def in_thread(
    handler: type[BaseHTTPRequestHandler], *, waits: bool = False, ends: Callable[[], object] = bool
) -> Iterator[ThreadingHTTPServer]:
    """A server of this handler. At its end `ends` is called; then it waits for its connections, if it is to: what was
    asked is answered, and nothing more is heard."""
    server = HttpServer(handler)
    server.daemon_threads = not waits
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        ends()
        if waits:
            server.hang_up()
        server.server_close()
        thread.join()


@contextmanager
def serving(answer: Callable[[Asked], Answer]) -> Iterator[Server]:
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Asked(self.command, parts.path, parse_qs(parts.query), headers, body)
            asked.append(request)
            said = answer(request)
            fields = {"content-type": "text/html; charset=utf-8", **said.headers}
            data = said.body
            if isinstance(data, list | dict):
                data, fields = json.dumps(data).encode(), {**fields, "content-type": "application/json"}
            data = data.encode() if isinstance(data, str) else data
            if said.packed:
                data, fields = gzip.compress(data), {**fields, "content-encoding": "gzip"}
            self.send_response(said.status)
            for name, value in {**fields, "content-length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):  # who asked has had enough
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = handle_one  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with in_thread(Handler, waits=True) as server:
        yield Server(server.server_port, asked)
