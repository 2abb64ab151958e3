"""GitHub's REST API, or a GitHub Enterprise's: pages, rate limits waited for with a countdown, errors in its own words.

A read that fails on the server's side is tried again. A write never is: it may have been done.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from quintet.adapters.http.fetch import Fetched, Fetcher, NoConnection
from quintet.domain.base import wire_json
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.safe_text import on_one_line
from quintet.features.forge.pull_request import elsewhere, repo_of
from quintet.features.forge.settings import ForgeSettings
from quintet.features.forge.token import MISSING, find_token, web_host

if TYPE_CHECKING:
    from quintet.app.services import Opening

MOST_BYTES = 30_000_000
REDIRECTS = 3
SERVER_ERRORS = (500, 502, 503, 504)
MOVED = (301, 302, 307, 308)
MAYBE = "it may have been done anyway: check before you try again"
TRIES = 3
SECONDARY_SECONDS = 60.0  # GitHub's word for a secondary limit that names no time
PER_PAGE = "100"
JSON = "application/vnd.github+json"
Tell = Callable[[str], None]


def _unheard(text: str) -> None:
    """Tells nobody."""


class NotOnForge(ToolFailed):
    """It does not exist there, or the token may not see it."""


class GitHub:
    """Paths are below its address; `tell` hears while something is waited for."""

    def __init__(self, settings: ForgeSettings, *, first_delay: float = 1.0, learn: Tell = _unheard) -> None:
        self._learn = learn  # told of the token, which is a secret
        self._settings = settings
        self._base = settings.url.rstrip("/")
        self.host = web_host(settings)
        self._first_delay = first_delay
        self._fetcher = Fetcher(seconds=settings.seconds, most_bytes=MOST_BYTES, redirects=REDIRECTS)
        self._token: str | None = None

    async def read(self, path: str, tell: Tell, **query: str) -> Any:
        return _json(await self._asked("GET", self._url(path, query), tell), dict)

    async def pull_request(self, repo: str, number: int, tell: Tell) -> str:
        """A pull request in one line: that it is there, and how it stands."""
        found = repo_of(repo)
        if not found or elsewhere(repo, self.host):
            raise ToolFailed(f'repo = "{repo}": owner/name on {self.host} is expected')
        pull = await self.read(f"repos/{quote(found)}/pulls/{number}", tell)
        stands = "merged" if pull.get("merged") else str(pull.get("state") or "there")
        return f"#{number} is {stands}: {on_one_line(str(pull.get('title') or ''))[:200]}"

    async def pages(self, path: str, tell: Tell, *, key: str = "", most: int = 1000) -> list[Any]:
        url = self._url(path, {"per_page": PER_PAGE})
        items: list[Any] = []
        while url:
            got = await self._asked("GET", url, tell)
            items += _json(got, dict).get(key) or [] if key else _json(got, list)
            url = self._next(got) if len(items) < most else ""
        return items[:most]

    async def text(self, path: str, tell: Tell, accept: str = "") -> str:
        got = await self._asked("GET", self._url(path, {}), tell, accept)
        return got.body.decode("utf-8", "replace")

    async def write(self, method: str, path: str, body: dict[str, Any], tell: Tell) -> Any:
        if not await self._find_token():
            raise ToolFailed(MISSING)
        return _json(await self._asked(method, self._url(path, {}), tell, body=msgspec.json.encode(body)), dict)

    async def next_look(self, waited: float, tell: Tell, why: str) -> float:
        left = self._settings.checks_seconds - waited
        if left <= 0:
            return -1.0
        pause = min(self._settings.poll_seconds, left)
        await _count_down(pause, tell, why)
        return waited + pause

    def _url(self, path: str, query: dict[str, str]) -> str:
        wanted = {name: value for name, value in query.items() if value}
        joint = "&" if "?" in path else "?"
        return f"{self._base}/{path}{joint}{urlencode(wanted)}" if wanted else f"{self._base}/{path}"

    def _next(self, got: Fetched) -> str:
        """The next page, if there is one, and if it is the forge's."""
        found = re.search(r'<([^<>]+)>\s*;[^,]*\brel="?next"?', got.headers.get("link", ""))
        url = found[1] if found else ""
        return url if urlsplit(url)[:2] == urlsplit(self._base)[:2] else ""

    async def _asked(self, method: str, url: str, tell: Tell, accept: str = "", body: bytes = b"") -> Fetched:
        """The answer to a request, once it is a good one."""
        token, waited, tries = await self._find_token(), 0.0, 1
        headers = {"accept": accept or JSON, "x-github-api-version": "2022-11-28"}
        headers |= {"authorization": f"Bearer {token}"} if token else {}
        headers |= {"content-type": "application/json"} if body else {}
        while True:
            got = await self._sent(url, headers, method, body)
            pause = _limited(got)
            if pause is not None:
                waited += pause
                if waited > self._settings.wait_seconds:
                    bound = f"forge.wait_seconds = {self._settings.wait_seconds:g}"
                    raise ToolFailed(f"the forge's rate limit ends in {pause:.0f} s, longer than {bound}")
                await _count_down(pause, tell, "the forge's rate limit")
            elif got.status in SERVER_ERRORS and method == "GET" and tries < TRIES:
                await _count_down(self._first_delay * tries, tell, f"the forge answered {got.status}")
                tries += 1
            elif got.status >= 300 or got.cut:
                failure = NotOnForge if got.status == 404 and not got.cut else ToolFailed
                raise failure(_problem(got, method, bool(token)))
            else:
                return got

    async def _sent(self, url: str, headers: dict[str, str], method: str, body: bytes) -> Fetched:
        try:
            return await self._fetcher.send(url, headers, method=method, body=body)
        except NoConnection:
            raise
        except ToolFailed as error:
            if method == "GET":
                raise
            raise ToolFailed(error.message, hint=MAYBE) from None

    async def _find_token(self) -> str:
        if self._token is None:
            self._token = (await asyncio.to_thread(find_token, self._settings, os.environ))[0]
            self._learn(self._token)
        return self._token


async def _count_down(seconds: float, tell: Tell, why: str) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        tell(f"{why}: {left:.0f} s left\n")
        await asyncio.sleep(min(1.0, left))


def _limited(got: Fetched) -> float | None:
    """The seconds that a rate limit wants waited for; None if there is none in the way."""
    if got.status not in (403, 429):
        return None
    after = got.headers.get("retry-after", "")
    if after.isdecimal():
        return float(after)
    reset = got.headers.get("x-ratelimit-reset", "")
    if got.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(0.0, float(reset) - time.time()) + 1.0
    limited = got.status == 429 or b"rate limit" in got.body.lower()
    return SECONDARY_SECONDS if limited else None


def _json(got: Fetched, kind: type) -> Any:
    try:
        return wire_json.decode(got.body, kind)
    except msgspec.DecodeError:
        hint = "check the address in [forge] url"
        raise ToolFailed("the forge does not answer like GitHub's REST API", hint=hint) from None


def _problem(got: Fetched, method: str, known: bool) -> str:
    words = _said(got)
    what = ": ".join((f"the forge answered {got.status}", *words))
    if got.cut:
        return f"the forge's answer is longer than {MOST_BYTES} bytes"
    if got.status == 401:
        return f"{what}\nthe token is not accepted: export another GH_TOKEN, or run gh auth login"
    if got.status in (403, 404):
        more = "the token may not do or see this" if known else MISSING
        return f"{what}\neither it does not exist, or {more}" if got.status == 404 else f"{what}\n{more}"
    if got.status >= 500 and method != "GET":
        return f"{what}\n{MAYBE}"
    if got.status in MOVED:
        return f"{what}\nthe repository has a new name: use that"
    return what


def _said(got: Fetched) -> list[str]:
    """What the forge says went wrong."""
    try:
        answer = wire_json.decode(got.body)
    except msgspec.DecodeError:
        return []
    if not isinstance(answer, dict):
        return []
    listed = answer.get("errors")
    errors = listed if isinstance(listed, list) else []
    details = [str(e.get("message") or e.get("code") or e) if isinstance(e, dict) else str(e) for e in errors]
    return [words for words in (str(answer.get("message", "")), "; ".join(details)) if words]


def open_forge(opening: Opening) -> GitHub:
    return GitHub(opening.settings.table("forge", ForgeSettings), learn=opening.vault.learn)
