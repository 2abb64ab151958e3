"""A loopback server that speaks /embeddings: a vector has one number for each subject that a text speaks of."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Embedding:
    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def embedding(subjects: Mapping[str, Sequence[str]]) -> Iterator[Embedding]:
    def vector(text: str) -> list[float]:
        said = [float(sum(text.lower().count(word) for word in words)) for words in subjects.values()]
        return [number or -0.1 for number in said]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            made.asked.append(body)
            assert self.path == "/v1/embeddings"
            rows = [{"index": n, "embedding": vector(text)} for n, text in enumerate(body["input"])]
            data = json.dumps({"data": rows[::-1], "usage": {"prompt_tokens": 1}}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made = Embedding(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
