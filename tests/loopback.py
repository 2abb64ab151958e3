"""A loopback HTTP server for tests: a function from a request to an answer, in a thread, with a record of what came."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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

        do_GET = do_POST = do_PATCH = handle_one  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False  # closing it waits for its connections
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Server(server.server_address[1], asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
