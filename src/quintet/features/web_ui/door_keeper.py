"""The door of the server: lets in who may come in, and reads what they send if it is not too much and in time."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import parse_qs

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quintet.features.web_ui import pages
from quintet.features.web_ui.access import HEADERS, HOW_IN, Attempts, Doors, Knock, Refusal, admitted

MOST_BODY = 1_000_000  # bytes of a form
BODY_SECONDS = 20.0
COOKIE_SECONDS = 30 * 24 * 3600


class DoorKeeper:
    """Lets in who may come in, and puts the headers that protect a page on every answer."""

    def __init__(self, app: ASGIApp, doors: Doors, cookie: str) -> None:
        self._app = app
        self._doors = doors
        self._cookie = cookie
        self._attempts = Attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(one for one in own if one[0] not in given)]
            await send(message)

        request = Request(scope, receive)
        answer = await self._answer(request)
        if answer is None and not scope["path"].startswith("/static/"):
            scope["path"] = scope["path"].removeprefix(self._doors.below)
            scope["raw_path"] = scope["path"].encode()
        await (answer or self._app)(scope, receive, protected)

    async def _answer(self, request: Request) -> Response | None:
        """An answer of the door's own; None where the request goes on."""
        knock = self._knock(request)
        decided = admitted(self._doors, knock)
        if isinstance(decided, Refusal) and decided.status == 421:
            return HTMLResponse(pages.problem(421, decided.text), 421)
        path = request.url.path
        if path.startswith("/static/"):
            return None
        address = request.client.host if request.client else ""
        token = request.query_params.get("token", "") if request.method == "GET" else ""
        if isinstance(decided, Refusal) and decided.status == 403:
            return HTMLResponse(pages.problem(403, decided.text), 403)
        if path == "/enter" and request.method == "POST":
            try:
                token = (await form(request)).get("token", "")
            except HTTPException as error:
                return HTMLResponse(pages.door(str(error.detail)), error.status_code)
        if token:
            return self._enter(token, address, request)
        if not path.startswith(f"{self._doors.below}/"):
            decided = Refusal(401, HOW_IN) if not isinstance(decided, Refusal) else decided
        if isinstance(decided, Refusal):
            if knock.bearer and decided.text != HOW_IN:
                if self._attempts.closed(address, time.monotonic()):
                    return HTMLResponse(pages.door("Too many wrong tokens. Try again in a minute."), 429)
                self._attempts.wrong(address, time.monotonic())
            return HTMLResponse(pages.door(decided.text), decided.status)
        request.scope["role"] = decided
        return None

    def _enter(self, token: str, address: str, request: Request) -> Response:
        now = time.monotonic()
        if self._attempts.closed(address, now):
            return HTMLResponse(pages.door("Too many wrong tokens. Try again in a minute."), 429)
        role = self._doors.role_of_token(token)
        if role is None:
            self._attempts.wrong(address, now)
            return HTMLResponse(pages.door("That is not the token of this server."), 401)
        path, below = request.url.path, self._doors.below
        answer = RedirectResponse(path if path.startswith(f"{below}/") else f"{below}/", 303)
        answer.set_cookie(
            self._cookie,
            self._doors.cookie(role),
            max_age=COOKIE_SECONDS,
            path=f"{self._doors.below}/",
            httponly=True,
            samesite="strict",
            secure=self._doors.secure,
        )
        return answer

    def _knock(self, request: Request) -> Knock:
        headers = request.headers
        kind, _, given = headers.get("authorization", "").partition(" ")
        return Knock(
            request.method,
            headers.get("host", ""),
            headers.get("origin", ""),
            headers.get("sec-fetch-site", ""),
            request.cookies.get(self._cookie, ""),
            given.strip() if kind.lower() == "bearer" else "",
        )


async def body(request: Request, most: int) -> bytes:
    """What was sent, if it comes in time and is not too much."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise HTTPException(413, f"That is more than {most // 1_000_000} MB.")
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, "The request took too long.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The request is incomplete.") from None
    return b"".join(parts)


async def form(request: Request) -> dict[str, str]:
    """The fields of a form, or of a JSON object of texts."""
    sent = await body(request, MOST_BODY)
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            return msgspec.json.decode(sent, type=dict[str, str])
        except msgspec.DecodeError as error:
            raise HTTPException(400, f"That is not a JSON object of texts: {error}") from None
    try:
        fields = parse_qs(sent.decode(), keep_blank_values=True, max_num_fields=50, errors="replace")
    except ValueError as error:
        raise HTTPException(400, f"That is no form: {error}") from None
    return {name: values[-1] for name, values in fields.items()}
