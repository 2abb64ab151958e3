"""The search engines of the web behind one shape: Brave, Exa, SearXNG over HTTP, and ddgs, which needs no key.

Those that know no domains or days get them as words of the query; `narrowed` then holds every engine to what was asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from quintet.adapters.http.fetch import Fetched, Fetcher
from quintet.adapters.processes.processes import run_apart
from quintet.adapters.processes.python_environment import install_part
from quintet.domain.base import wire_json
from quintet.domain.base.errors import ToolFailed
from quintet.domain.settings.settings import WebSettings
from quintet.features.web_search.values import Sought, WebResult

MOST_BYTES = 5_000_000
CHILD = os.path.join(os.path.dirname(__file__), "ddgs_child.py")
BRAVE_MOST = 20
Engine = Callable[[Sought], Awaitable[list[WebResult]]]


def engine(name: str, settings: WebSettings, environment: Mapping[str, str]) -> Engine:
    fetcher = Fetcher(seconds=settings.seconds, most_bytes=MOST_BYTES)

    async def brave(sought: Sought) -> list[WebResult]:
        words = {"q": _worded(sought), "count": min(sought.count, BRAVE_MOST)}
        if sought.since:
            words["freshness"] = f"{sought.since}to{_today()}"
        key = _key(name, settings.brave_key_env, environment)
        url = f"{settings.brave_url.rstrip('/')}/res/v1/web/search?{urlencode(words)}"
        answer = _answer("Brave", await fetcher.send(url, {"x-subscription-token": key, "accept": "application/json"}))
        rows = (answer.get("web") or {}).get("results") or []
        return [_found(row, "description", row.get("page_age")) for row in rows]

    async def exa(sought: Sought) -> list[WebResult]:
        wanted: dict[str, Any] = {
            "query": sought.query,
            "numResults": sought.count,
            "contents": {"highlights": {"numSentences": 3, "highlightsPerUrl": 1}},
        }
        wanted |= {"includeDomains": list(sought.include)} if sought.include else {}
        wanted |= {"excludeDomains": list(sought.exclude)} if sought.exclude else {}
        wanted |= {"startPublishedDate": f"{sought.since}T00:00:00.000Z"} if sought.since else {}
        headers = {"x-api-key": _key(name, settings.exa_key_env, environment), "content-type": "application/json"}
        url = f"{settings.exa_url.rstrip('/')}/search"
        answer = _answer("Exa", await fetcher.send(url, headers, method="POST", body=msgspec.json.encode(wanted)))
        rows = answer.get("results") or []
        return [
            _found({**row, "text": " … ".join(row.get("highlights") or ()) or row.get("text")}, "text") for row in rows
        ]

    async def searxng(sought: Sought) -> list[WebResult]:
        if not settings.searxng_url:
            raise ToolFailed("no SearXNG is set up", hint='set its address: [web] searxng_url = "https://…"')
        words = {"q": _worded(sought), "format": "json", "time_range": _span(sought.since)}
        url = f"{settings.searxng_url.rstrip('/')}/search?{urlencode({k: v for k, v in words.items() if v})}"
        got = await fetcher.send(url, {"accept": "application/json"})
        if got.status == 403:
            raise ToolFailed("SearXNG refuses to answer in JSON", hint="add json to search.formats in its settings.yml")
        return [_found(row, "content") for row in _answer("SearXNG", got).get("results") or []]

    async def ddgs(sought: Sought) -> list[WebResult]:
        if find_spec("ddgs") is None:
            raise ToolFailed(
                "no web search is available: no key is set, and ddgs is not installed",
                hint=install_part("web"),
            )
        request = {
            "query": _worded(sought),
            "count": sought.count,
            "limit": _span(sought.since)[:1],
            "seconds": settings.seconds / 2,
        }
        try:
            answer = await run_apart(CHILD, request, b"", settings.seconds, online=True)
        except ToolFailed as error:
            hint = "try again, or set up another search: BRAVE_API_KEY, EXA_API_KEY or [web] searxng_url"
            raise ToolFailed(f"the search failed: {error.message}", hint=hint) from None
        return [_found(row, "text") for row in answer["results"]]

    return {"brave": brave, "exa": exa, "searxng": searxng, "ddgs": ddgs}[name]


def narrowed(found: Iterable[WebResult], sought: Sought) -> list[WebResult]:
    """What of it fits: by domain, and by day where the day is known; each address once."""
    kept: dict[str, WebResult] = {}
    for one in found:
        host = (urlsplit(one.url).hostname or "").lower()
        wanted = not sought.include or any(_belongs(host, domain) for domain in sought.include)
        unwanted = any(_belongs(host, domain) for domain in sought.exclude)
        late = not (sought.since and one.published) or one.published[:10] >= sought.since
        if host and wanted and not unwanted and late:
            kept.setdefault(one.url, one)
    return list(kept.values())[: sought.count]


def _belongs(host: str, domain: str) -> bool:
    domain = domain.lower().strip().removeprefix("*.").lstrip(".")
    return host == domain or host.endswith(f".{domain}")


def _worded(sought: Sought) -> str:
    only = " OR ".join(f"site:{domain}" for domain in sought.include)
    without = " ".join(f"-site:{domain}" for domain in sought.exclude)
    return " ".join(filter(None, (sought.query, f"({only})" if len(sought.include) > 1 else only, without)))


def _span(since: str) -> str:
    """The shortest stretch of time that reaches back to a day: day, month or year; empty if none does."""
    if not since:
        return ""
    days = (datetime.now(UTC).date() - date.fromisoformat(since)).days
    return next((word for word, most in (("day", 1), ("month", 30), ("year", 365)) if days <= most), "")


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _key(name: str, variable: str, environment: Mapping[str, str]) -> str:
    key = environment.get(variable, "")
    if not key:
        raise ToolFailed(f"web.search is {name}, and {variable} is not set", hint=f"export {variable}=… with your key")
    return key


def _answer(who: str, got: Fetched) -> dict[str, Any]:
    if got.status in (401, 403):
        raise ToolFailed(f"{who} refuses the key ({got.status})", hint="check the key in your environment")
    if got.status == 429:
        raise ToolFailed(f"{who} limits the rate of requests (429)", hint="wait a moment, or set web.search to another")
    if got.status != 200:
        raise ToolFailed(f"{who} answered {got.status}: {got.body[:200].decode('utf-8', 'replace').strip()}")
    try:
        answer = wire_json.decode(got.body)
    except msgspec.DecodeError:
        answer = None
    if not isinstance(answer, dict):
        raise ToolFailed(f"{who} did not answer with JSON", hint="check the address in [web]")
    return answer


def _found(row: Mapping[str, Any], text: str, published: Any = None) -> WebResult:
    said = re.sub(r"<[^>]+>", "", str(row.get(text) or ""))  # Brave marks the words it found
    day = str(published or row.get("publishedDate") or "")
    return WebResult(str(row.get("url") or ""), str(row.get("title") or ""), " ".join(said.split()), day)
