"""A loopback server of Telegram's Bot API, as far as a bot with long polling meets it: getMe, getUpdates with offset
and timeout, sendMessage, answerCallbackQuery; 401 for a wrong token, 409 for two pollers, and being down."""

import json
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import in_thread

TOKEN = "123456:AAAAtest-token-of-a-loopback-bot"
OWNER, STRANGER = 42, 666


class BotApi:
    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.pressed: list[str] = []
        self.down = False
        self.slow = 0.0  # seconds before a message is taken, if whoever sent it still waits by then
        self.asked = 0  # requests while it was down
        self.resend = False  # as after a crash: what was confirmed comes again
        self._next_update = 1000
        self._next_message = 1
        self._polling = 0
        self._changed = threading.Condition()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # ── what people do

    def says(self, text: str, sender: int = OWNER, *, reply_to: int = 0, kind: str = "private", **more: Any) -> int:
        """A message in the sender's own chat, or in a group; returns the update's id."""
        chat = {"id": sender if kind == "private" else -100, "type": kind}
        message = {
            "message_id": self._number(),
            "from": {"id": sender, "is_bot": False, "first_name": f"person {sender}"},
            "chat": chat,
            "date": int(time.time()),
            "text": text,
            **({"reply_to_message": {"message_id": reply_to, "chat": chat}} if reply_to else {}),
            **more,
        }
        return self.puts({"message": message})

    def edits(self, text: str, message: int, sender: int = OWNER) -> int:
        chat = {"id": sender, "type": "private"}
        edited = {"message_id": message, "from": {"id": sender}, "chat": chat, "text": text, "edit_date": 1}
        return self.puts({"edited_message": edited})

    def presses(self, data: str, message: int, sender: int = OWNER) -> int:
        on = {"message_id": message, "chat": {"id": OWNER, "type": "private"}, "from": {"id": 1, "is_bot": True}}
        person = {"id": sender, "is_bot": False, "first_name": "p"}
        return self.puts(
            {"callback_query": {"id": f"press-{message}-{data}", "from": person, "message": on, "data": data}}
        )

    def puts(self, update: dict[str, Any]) -> int:
        with self._changed:
            self._next_update += 1
            self.updates.append({"update_id": self._next_update, **update})
            self._changed.notify_all()
            return self._next_update

    def _number(self) -> int:
        self._next_message += 1
        return self._next_message

    # ── what is seen of it

    def texts(self, chat: int = OWNER) -> list[str]:
        return [one["text"] for one in self.sent if one["chat_id"] == chat]

    def said(self, part: str) -> dict[str, Any] | None:
        """The newest message with this in it."""
        return next((one for one in reversed(self.sent) if part in one["text"]), None)

    # ── the wire

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        token, _, method = path.removeprefix("/bot").partition("/")
        if token != TOKEN:
            return 401, {"ok": False, "error_code": 401, "description": "Unauthorized"}
        match method:
            case "getMe":
                return _ok({"id": 1, "is_bot": True, "username": "quintet_test_bot"})
            case "getUpdates":
                return self._get_updates(body)
            case "sendMessage":
                if not isinstance(body.get("chat_id"), int) or not body.get("text") or len(body["text"]) > 4096:
                    return 400, {"ok": False, "error_code": 400, "description": "Bad Request: message text is wrong"}
                number = self._number()
                self.sent.append({**body, "message_id": number})
                return _ok({"message_id": number, "chat": {"id": body["chat_id"]}, "text": body["text"]})
            case "answerCallbackQuery":
                self.pressed.append(body["callback_query_id"])
                return _ok(True)
        return 404, {"ok": False, "error_code": 404, "description": "Not Found"}

    def _get_updates(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        allowed = body.get("allowed_updates", [])
        with self._changed:
            if self._polling:
                return 409, {"ok": False, "error_code": 409, "description": "Conflict: terminated by other getUpdates"}
            if "offset" in body and not self.resend:
                self.updates = [one for one in self.updates if one["update_id"] >= body["offset"]]
            self._polling += 1
            try:
                until = time.monotonic() + min(body.get("timeout", 0), 1)
                while not self._due(allowed) and not self.down and (left := until - time.monotonic()) > 0:
                    self._changed.wait(left)
                return _ok(self._due(allowed))
            finally:
                self._polling -= 1

    def _due(self, allowed: list[str]) -> list[dict[str, Any]]:
        return [one for one in self.updates if not allowed or set(one) & set(allowed)]

    def goes_down(self) -> None:
        with self._changed:
            self.down = True
            self._changed.notify_all()


def _ok(result: Any) -> tuple[int, dict[str, Any]]:
    return 200, {"ok": True, "result": result}


@contextmanager
def bot_api() -> Iterator[BotApi]:
    api = BotApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if api.slow and self.path.endswith("/sendMessage"):
                time.sleep(api.slow)
                if select.select([self.connection], [], [], 0)[0]:
                    self.close_connection = True
                    return
            status, said = api.answer(self.path, json.loads(body or b"{}")) if not api.down else (0, {})
            if api.down:
                api.asked += 1
                self.close_connection = True
                return
            data = json.dumps(said).encode()
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    with in_thread(Handler, ends=api.goes_down) as server:
        api.port = server.server_port
        yield api
