"""A loopback server of ntfy's form: publishing as JSON, and a stream of JSON lines by topic with `since`.

As the real one: an `open` line first, then what the cache holds since an id, then what comes; keepalives between.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from quintet.features.remote.ntfy import Topics, account_of, as_address
from tests.features.remote.sessions import paired
from tests.loopback import in_thread

TOPICS = Topics("quintet-out-topic", "quintet-reply-topic")


class NtfyServer:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.changed = threading.Condition()
        self.looks = 0  # how often somebody began to listen
        self.ended = False
        self.port = 0
        self.account = account_of(TOPICS)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def pair(self) -> None:
        paired("ntfy", self.account, as_address(TOPICS))

    def publish(self, topic: str, message: str, **more: Any) -> dict[str, Any]:
        with self.changed:
            made = {
                "id": f"m{len(self.messages):011}",
                "time": int(time.time()),
                "event": "message",
                "topic": topic,
                "message": message,
                **more,
            }
            self.messages.append(made)
            self.changed.notify_all()
            return made

    def says(self, text: str, topic: str = TOPICS.reply, **more: Any) -> None:
        self.publish(topic, text, **more)

    def said(self, part: str) -> dict[str, Any] | None:
        found = [one for one in self.messages if one["topic"] == TOPICS.out and part in one["message"]]
        return found[-1] if found else None

    def since(self, topics: list[str], since: str) -> list[dict[str, Any]]:
        ids = [one["id"] for one in self.messages]
        begin = ids.index(since) + 1 if since in ids else 0
        return [one for one in self.messages[begin:] if one["topic"] in topics]

    def end(self) -> None:
        self.ended = True
        with self.changed:
            self.changed.notify_all()


@contextmanager
def ntfy_server() -> Iterator[NtfyServer]:
    served = NtfyServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            topic, message = body.pop("topic"), body.pop("message")
            self._whole(served.publish(topic, message, **body))

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/v1/health":
                return self._whole({"healthy": True})
            topics = parts.path.split("/")[1].split(",")
            since = parse_qs(parts.query).get("since", ["none"])[0]
            served.looks += 1
            self.send_response(200)
            self.send_header("content-type", "application/x-ndjson; charset=utf-8")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                self._line({"id": "o", "time": 1, "event": "open", "topic": ",".join(topics)})
                while not served.ended:
                    with served.changed:
                        due = served.since(topics, since)
                        if not due:
                            served.changed.wait(0.5)
                    for one in due:
                        self._line(one)
                        since = one["id"]
                    if not due:
                        self._line({"id": "k", "time": 1, "event": "keepalive", "topic": topics[0]})
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _line(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def _whole(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    with in_thread(Handler, ends=served.end) as server:
        served.port = server.server_port
        yield served
