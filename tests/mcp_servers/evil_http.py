"""Addresses that misbehave, for a thread of a test's own: /hang, /flood, /stream, /packed, /401, /page, /away.

/more wants a login that allows more, and /named only speaks of a status."""

import contextlib
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

from tests.loopback import in_thread

CHUNK = b" " * 1_000_000


class Evil(BaseHTTPRequestHandler):
    over = threading.Event()

    def do_POST(self) -> None:
        self.asked = self.rfile.read(int(self.headers["content-length"]))
        with contextlib.suppress(OSError):
            getattr(self, f"_{self.path.strip('/')}")()

    def _begin(self, status: int, kind: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _hang(self) -> None:
        self.over.wait(60)

    def _flood(self) -> None:
        self._begin(200, "application/json")
        while not self.over.is_set():
            self.wfile.write(CHUNK)

    def _stream(self) -> None:
        self._begin(200, "text/event-stream")
        while not self.over.is_set():
            self.wfile.write(b":" + CHUNK + b"\n\n")

    def _packed(self) -> None:
        self._begin(200, "application/json", content_encoding="gzip")
        self.wfile.write(gzip.compress(CHUNK * 50))

    def _401(self) -> None:
        self._begin(401, "text/plain")

    def _more(self) -> None:
        self._begin(403, "text/plain", www_authenticate='Bearer error="insufficient_scope", scope="write"')

    def _named(self) -> None:
        error = {"code": -32000, "message": "the service behind it said HTTP 401"}
        self._begin(200, "application/json")
        self.wfile.write(json.dumps({"jsonrpc": "2.0", "id": json.loads(self.asked)["id"], "error": error}).encode())

    def _page(self) -> None:
        self._begin(200, "text/html")
        self.wfile.write(b"<h1>Welcome</h1>")

    def _away(self) -> None:
        self._begin(307, "text/plain", location="http://elsewhere.example/mcp")

    def log_message(self, format: str, *arguments: object) -> None: ...


@contextlib.contextmanager
def evil_http() -> Iterator[int]:
    Evil.over = threading.Event()
    with in_thread(Evil, ends=Evil.over.set) as server:
        yield server.server_port
