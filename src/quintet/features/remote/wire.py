"""JSON to and from one server, over the program's own HTTP client.

Whatever a server answers, however long it takes and whatever it leaves out, is a value or a ChannelDown. What it says
in words is shown without any piece of the token: a server that repeats a request would repeat that too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import h11
import msgspec

from quintet.adapters.files.loose_json import as_text
from quintet.adapters.http.client import HttpClient, Response
from quintet.domain.base.errors import ModelError
from quintet.domain.base.safe_text import visible
from quintet.features.remote.channel import ChannelDown

MOST_BYTES = 8_000_000
MOST_LINE = 200_000
MOST_SAID = 200  # characters of a server's own words
MOST_NUMBER = 2**53
IDLE_SECONDS = 90.0  # longer than any long poll
ANSWER_SECONDS = 30.0  # for all of an answer, beside the time that a long poll waits
PIECE = 6  # characters of a secret that are too many to be shown


class JsonWire:
    """`setting` names the setting of the address, for who has to correct it; `secret` is shown to nobody."""

    def __init__(self, url: str, setting: str, secret: str, headers: Mapping[str, str] | None = None) -> None:
        self._client = HttpClient(url, IDLE_SECONDS, setting)
        self._setting = setting
        self._secret = secret
        self._headers = {"content-type": "application/json", **(headers or {})}

    async def ask(
        self, method: str, path: str, body: Any = None, seconds: float = ANSWER_SECONDS
    ) -> tuple[int, dict[str, Any]]:
        """The status and the object of an answer that is complete in this time."""
        data = b"" if body is None else msgspec.json.encode(body)
        ways = {"GET": None, "POST": self._client.post, "PUT": self._client.put}
        way = ways[method]
        with self._as_down():
            try:
                async with asyncio.timeout(seconds):
                    asked = way(path, self._headers, data) if way else self._client.get(path, self._headers)
                    async with asked as answer:
                        found = bytearray()
                        async for piece in answer:
                            found += piece
                            if len(found) > MOST_BYTES:
                                raise ChannelDown(f"the answer is larger than {MOST_BYTES // 1_000_000} MB")
                        return answer.status, _object(bytes(found), answer)
            except TimeoutError:
                raise ChannelDown(f"the server did not complete its answer in {seconds:g} s") from None

    async def lines(self, path: str) -> AsyncGenerator[dict[str, Any]]:
        """The objects of a stream of lines, as they come; whoever reads them says for how long."""
        with self._as_down():
            async with self._client.get(path, self._headers) as answer:
                if answer.status != 200:
                    raise ChannelDown(f"the server answered {answer.status}", retry_after=answer.retry_after or 0.0)
                left = b""
                async for piece in answer:
                    *whole, left = (left + piece).split(b"\n")
                    if max(map(len, (*whole, left))) > MOST_LINE:
                        raise ChannelDown("the server sent a line that is too long")
                    for line in whole:
                        if line.strip():
                            yield _object(line, answer)
                if left.strip():
                    yield _object(left, answer)

    def said(self, value: Any) -> str:
        """A text of the server's that can be shown; empty if it is none."""
        return visible(without(as_text(value)[: 10 * MOST_SAID], self._secret))[:MOST_SAID].strip()

    @contextmanager
    def _as_down(self) -> Iterator[None]:
        try:
            yield
        except ModelError as error:
            said = self.said(error.message.replace(f"{self._setting}.base_url", self._setting))
            raise ChannelDown(said, hint=f"check {self._setting} in your settings") from error
        except (h11.LocalProtocolError, UnicodeError) as error:
            problem = "the request cannot be sent: the token or the address holds a character that HTTP does not allow"
            raise ChannelDown(problem, hint=f"check {self._setting} and the token") from error

    async def close(self) -> None:
        await self._client.close()


def without(text: str, secret: str) -> str:
    """A text without any piece of a secret that is long enough to be of use."""
    size = min(PIECE, len(secret))
    if not size:
        return text
    shown, hidden_to = "", -1
    for place, char in enumerate(text):
        if text[place : place + size] in secret and len(text) - place >= size:
            shown += "" if place <= hidden_to else "…"
            hidden_to = place + size
        if place >= hidden_to:
            shown += char
    return shown


def _object(data: bytes, answer: Response) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(data)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or too deep
        found = None
    if not isinstance(found, dict):
        raise ChannelDown(f"the server answered {answer.status}, but not with a JSON object")
    return found


def number_of(value: Any) -> int:
    """A number that can be kept and compared; 0 if it is none."""
    return value if type(value) is int and 0 <= value <= MOST_NUMBER else 0
