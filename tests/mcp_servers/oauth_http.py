"""A server that wants a login, and its authorisation server, in a thread of a test's own. The standard library only."""

import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


class OAuth(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seconds = 3600
        self.good: set[str] = set()
        self.challenges: dict[str, str] = {}
        self.asked: list[str] = []  # grants
        self.registered: list[dict[str, Any]] = []
        self.authorize = ""  # another address of the page to log in at
        self.answers: dict[str, str] = {}  # that come back from it instead

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: OAuth

    def _json(self, value: Any, status: int = 200, **headers: str) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, said in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), said)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        parts, url = urlsplit(self.path), self.server.url
        if parts.path.startswith("/.well-known/oauth-protected-resource"):
            self._json({"resource": f"{url}/mcp", "authorization_servers": [url]})
        elif parts.path == "/.well-known/oauth-authorization-server":
            self._json(
                {
                    "issuer": url,
                    "authorization_endpoint": self.server.authorize or f"{url}/authorize",
                    "token_endpoint": f"{url}/token",
                    "registration_endpoint": f"{url}/register",
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                }
            )
        elif parts.path == "/authorize":
            given = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.server.challenges["code-1"] = given["code_challenge"]
            back = {"code": "code-1", "state": given["state"], **self.server.answers}
            self.send_response(302)
            self.send_header("location", f"{given['redirect_uri']}?{urlencode(back)}")
            self.end_headers()
        else:
            self._json({}, 404 if parts.path != "/mcp" else 405)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        path = urlsplit(self.path).path
        if path == "/register":
            asked = json.loads(data)
            self.server.registered.append(asked)
            self._json({**asked, "client_id": f"client-{len(self.server.registered)}"}, 201)
        elif path == "/token":
            self._token({name: values[0] for name, values in parse_qs(data.decode()).items()})
        elif self.headers.get("authorization", "").removeprefix("Bearer ") not in self.server.good:
            where = f'Bearer resource_metadata="{self.server.url}/.well-known/oauth-protected-resource/mcp"'
            self._json({}, 401, www_authenticate=where)
        else:
            self._mcp(json.loads(data))

    def _token(self, given: dict[str, str]) -> None:
        self.server.asked.append(given["grant_type"])
        if given["grant_type"] == "authorization_code":
            digest = hashlib.sha256(given["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).decode().rstrip("=") != self.server.challenges.get(given["code"]):
                self._json({"error": "invalid_grant"}, 400)
                return
        token = f"canary-access-{len(self.server.asked)}"
        self.server.good = {token}
        more = {"expires_in": self.server.seconds, "refresh_token": "canary-refresh"}
        self._json({"access_token": token, "token_type": "Bearer", **more})

    def _mcp(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        answers: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": self.headers["authorization"]}]},
        }
        made = answers.get(message["method"])
        unknown = {"error": {"code": -32601, "message": "not known"}}
        self._json({"jsonrpc": "2.0", "id": message["id"], **({"result": made} if made else unknown)})

    def log_message(self, format: str, *arguments: object) -> None: ...


@contextlib.contextmanager
def oauth_http() -> Iterator[OAuth]:
    server = OAuth()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
