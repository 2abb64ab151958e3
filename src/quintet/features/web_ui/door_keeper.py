"""The door of the server: lets in who may come in, and reads what they send if it is not too much and in time."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import parse_qs

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quintet.domain.ports.offers import ANSWER_PATH
from quintet.features.web_ui import measured, pages
from quintet.features.web_ui.access import (
    HEADERS,
    HOW_IN,
    NOT_THE_TOKEN,
    WINDOW_SECONDS,
    Attempts,
    Doors,
    Knock,
    Refusal,
    admitted,
)
from quintet.features.web_ui.answer_door import AnswerDoor

MOST_BODY = 1_000_000  # bytes of a form
BODY_SECONDS = 20.0
MOST_TOKEN = 1_000  # bytes of the form of somebody who is not let in yet
TOKEN_SECONDS = 3.0
COOKIE_SECONDS = 30 * 24 * 3600


class DoorKeeper:
    """Lets in who may come in, and puts the headers that protect a page on every answer."""

    def __init__(self, app: ASGIApp, doors: Doors, cookie: str) -> None:
        self._app = app
        self._doors = doors
        self._cookie = cookie
        self._attempts = Attempts()
        self._links = AnswerDoor(doors, self._attempts)

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

    def knows(self, scope: Scope) -> bool:
        """Whether a request has a right token or cookie, whatever becomes of it."""
        knock = self._knock(Request(scope))
        return bool(self._doors.role_of_token(knock.bearer) or self._doors.role_of_cookie(knock.cookie))

    async def _answer(self, request: Request) -> Response | None:
        """An answer of the door's own; None where the request goes on."""
        knock = self._knock(request)
        decided = admitted(self._doors, knock)
        if isinstance(decided, Refusal) and decided.status == 421:
            return HTMLResponse(pages.problem(421, decided.text), 421)
        path = request.url.path
        if path.startswith("/static/"):
            return None
        if path.startswith(f"/{ANSWER_PATH}/"):
            return await self._links.answer(request, knock)
        address = request.client.host if request.client else ""
        token = request.query_params.get("token", "") if request.method == "GET" else ""
        if isinstance(decided, Refusal) and decided.status == 403:
            return HTMLResponse(pages.problem(403, decided.text), 403)
        if path == "/enter" and request.method == "POST":
            try:
                token = (await form(request, MOST_TOKEN, TOKEN_SECONDS)).get("token", "")
            except HTTPException as error:
                return HTMLResponse(pages.door(str(error.detail)), error.status_code)
        if token:
            return self._enter(token, address, request)
        measuring = path == measured.PATH and bool(knock.bearer)  # a program that comes with its token each time
        if not path.startswith(f"{self._doors.below}/") and not measuring:
            decided = Refusal(401, HOW_IN) if not isinstance(decided, Refusal) else decided
        if isinstance(decided, Refusal):
            if knock.bearer and decided.text != HOW_IN:
                return self._wrong(address, decided.text)
            return HTMLResponse(pages.door(decided.text), decided.status)
        request.scope["role"] = decided
        return None

    def _enter(self, token: str, address: str, request: Request) -> Response:
        role = self._doors.role_of_token(token)
        if role is None:
            return self._wrong(address, NOT_THE_TOKEN)
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

    def _wrong(self, address: str, text: str) -> Response:
        """What somebody gets who has no right token; too many of them get little, and their connection is closed."""
        if not self._attempts.wrong(address, time.monotonic()):
            return HTMLResponse(pages.door(text), 401)
        headers = {"Retry-After": str(int(WINDOW_SECONDS)), "Connection": "close"}
        return PlainTextResponse("Too many wrong tokens. The right one still works.\n", 429, headers)

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


async def body(request: Request, most: int, seconds: float = BODY_SECONDS) -> bytes:
    """What was sent, if it comes in time and is not too much."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise HTTPException(413, f"That is more than {most // 1000} KB.")
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, "The request took too long.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The request is incomplete.") from None
    return b"".join(parts)


async def form(request: Request, most: int = MOST_BODY, seconds: float = BODY_SECONDS) -> dict[str, str]:
    """The fields of a form, or of a JSON object of texts."""
    sent = await body(request, most, seconds)
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            return msgspec.json.decode(sent, type=dict[str, str])
        except msgspec.DecodeError as error:
            raise HTTPException(400, f"That is not a JSON object of texts: {error}") from None
    try:
        fields = parse_qs(sent.decode(), keep_blank_values=True, max_num_fields=50, errors="replace")
    except ValueError as error:
        raise HTTPException(400, f"The form cannot be read: {error}") from None
    # A form without a script ends its lines as the web does; what people type has the ends of ours.
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}
