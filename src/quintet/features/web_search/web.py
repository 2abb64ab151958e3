"""The web as the tools see it: searches, and pages as readable text. Pages are read in a process apart."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from quintet.adapters.http.fetch import Fetched, Fetcher, Guard, Resolve, looked_up
from quintet.adapters.processes.processes import run_apart
from quintet.domain.base.errors import ToolFailed
from quintet.domain.settings.settings import WebSettings
from quintet.features.web_search.search_engines import engine, narrowed
from quintet.features.web_search.values import Page, Sought, WebResult, chosen

if TYPE_CHECKING:
    from quintet.app.services import Opening

AT_ONCE = 4
CHILD = os.path.join(os.path.dirname(__file__), "page_child.py")
PDF_BYTES = 10_000_000
_TEXTS = re.compile(r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|toml|javascript|x-sh|x-ndjson)")
_HTML = ("text/html", "application/xhtml+xml")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]+)", re.I)


class OpenWeb:
    def __init__(self, settings: WebSettings, resolve: Resolve = looked_up) -> None:
        self._settings = settings
        self._fetcher = Fetcher(
            seconds=settings.seconds,
            most_bytes=settings.max_bytes,
            redirects=settings.redirects,
            guard=Guard(settings.allow_hosts),
            resolve=resolve,
        )

    async def search(self, sought: Sought) -> tuple[list[WebResult], str]:
        name = chosen(self._settings, os.environ)
        found = await engine(name, self._settings, os.environ)(sought)
        return narrowed(found, sought), name

    async def pages(self, urls: Sequence[str], tell: Callable[[str], None]) -> list[Page | str]:
        free, done = asyncio.Semaphore(AT_ONCE), 0

        async def one(url: str) -> Page | str:
            nonlocal done
            async with free:
                try:
                    page: Page | str = await self._page(url)
                except ToolFailed as error:
                    page = str(error)
            done += 1
            tell(f"{done} of {len(urls)}: {url}\n")
            return page

        return list(await asyncio.gather(*map(one, urls)))

    async def _page(self, url: str) -> Page:
        got = await self._fetcher.send(url)
        if got.status != 200:
            raise ToolFailed(f"{got.url}: the server answered {got.status}")
        cut = f"only its first {self._settings.max_bytes} bytes were read" if got.cut else ""
        if got.kind == "application/pdf" or got.body.startswith(b"%PDF-"):
            if got.cut or len(got.body) > PDF_BYTES:
                raise ToolFailed(f"{got.url}: a PDF of more than {min(PDF_BYTES, self._settings.max_bytes)} bytes")
            return await self._made(got, "pdf", got.body, cut)
        if got.kind in _HTML or (not got.kind and b"<html" in got.body[:2000].lower()):
            return await self._made(got, "html", _decoded(got).encode("utf-8", "replace"), cut)
        if _TEXTS.fullmatch(got.kind) or (not got.kind and b"\0" not in got.body[:2000]):
            return Page(got.url, "", _decoded(got), cut)
        raise ToolFailed(f"{got.url}: {got.kind or 'of unknown kind'}, {len(got.body)} bytes: not text")

    async def _made(self, got: Fetched, kind: str, body: bytes, cut: str) -> Page:
        try:
            made = await run_apart(CHILD, {"kind": kind, "url": got.url}, body, self._settings.seconds)
        except ToolFailed as error:
            raise ToolFailed(f"{got.url}: {error.message}") from None
        note = "; ".join(filter(None, (made.get("note", ""), cut)))
        return Page(got.url, made["title"], made["text"], note)


def _decoded(got: Fetched) -> str:
    """The body as text: by its mark, what the server says, what the page says, else UTF-8."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if got.body.startswith(mark):
            return got.body.decode(name, "replace")
    said = re.search(r"charset=[\"']?([\w-]+)", got.headers.get("content-type", ""), re.I)
    written = _CHARSET.search(got.body[:2000]) if got.kind in _HTML else None
    name = said[1] if said else written[1].decode("ascii") if written else "utf-8"
    try:
        return got.body.decode(name, "replace")
    except LookupError:
        return got.body.decode("utf-8", "replace")


def open_web(opening: Opening) -> OpenWeb:
    return OpenWeb(opening.settings.web)
