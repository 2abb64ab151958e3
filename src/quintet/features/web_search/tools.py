"""web_search and web_get_contents: the web, found and read as text."""

from __future__ import annotations

import hashlib
from datetime import date
from typing import TYPE_CHECKING, Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import CallStatus, Outward, ToolResult, Touch
from quintet.features.web_search.values import Page, Sought, WebResult
from quintet.tools.declare import tool
from quintet.tools.files import kept

if TYPE_CHECKING:
    from quintet.features.web_search.web import OpenWeb

MOST_RESULTS = 50
MOST_PAGES = 10
MOST_CHARACTERS = 40_000  # of all pages together
MOST_SNIPPET = 500


def _fetches(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.FETCH}))


@tool(effects={Effect.FETCH}, touch=_fetches, needs=("web search",))
async def web_search(
    bench: Workbench,
    query: str,
    num_results: int = 10,
    include_domains: tuple[str, ...] = (),
    exclude_domains: tuple[str, ...] = (),
    start_published_date: str = "",
) -> ToolResult:
    """Search the web. Gives titles, addresses and a few words of each; web_get_contents reads the pages.

    :query: what to look for
    :num_results: how many at most
    :include_domains: only results from these, for example docs.python.org
    :exclude_domains: no results from these
    :start_published_date: nothing older than this day, YYYY-MM-DD
    """
    if not query.strip():
        raise ToolFailed("query is empty: expected words to search for")
    since = start_published_date[:10]
    if since and not _is_day(since):
        raise ToolFailed(f'start_published_date = "{start_published_date}": expected a day, YYYY-MM-DD')
    count = min(max(num_results, 1), MOST_RESULTS)
    found, by = await _web(bench).search(Sought(query, count, include_domains, exclude_domains, since))
    if not found:
        return ToolResult(f"nothing was found ({by})", summary="none")
    undated = sum(not one.published for one in found) if since else 0
    note = [f"({counted(undated, 'result')} without a date may be older)"] if undated else []
    shown = [f"{number}. {_result(one)}" for number, one in enumerate(found, 1)]
    return ToolResult("\n\n".join([*shown, *note]), summary=f"{counted(len(found), 'result')}, {by}")


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _result(found: WebResult) -> str:
    text = found.text if len(found.text) <= MOST_SNIPPET else f"{found.text[:MOST_SNIPPET]}…"
    day = f" ({found.published[:10]})" if found.published else ""
    return "\n   ".join(filter(None, (f"{found.title or found.url}{day}", found.url, text)))


def _pages(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.FETCH}), outward=Outward(_wanted(arguments["urls"])))


def _wanted(urls: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(url.strip() for url in urls if url.strip()))


@tool(effects={Effect.FETCH}, touch=_pages)
async def web_get_contents(bench: Workbench, urls: tuple[str, ...]) -> ToolResult:
    """Read web pages: the main text of each, without menus and advertisements. PDFs and plain texts too.

    :urls: the addresses, 10 at most
    """
    wanted = list(_wanted(urls))
    if not wanted or len(wanted) > MOST_PAGES:
        raise ToolFailed(f"expected 1 to {MOST_PAGES} addresses, not {len(wanted)}")
    pages = await _web(bench).pages(wanted, bench.progress)
    room = MOST_CHARACTERS // len(wanted)
    said = [_page(bench, page, room) if isinstance(page, Page) else page for page in pages]
    read = sum(isinstance(page, Page) for page in pages)
    status = CallStatus.OK if read else CallStatus.ERROR
    return ToolResult("\n\n---\n\n".join(said), status, summary=f"{read} of {counted(len(wanted), 'page')} read")


def _page(bench: Workbench, page: Page, room: int) -> str:
    note, cut = page.note, ""
    if (over := len(page.text) - room) > 0:
        cut = "…"
        where = kept(bench, f"page-{hashlib.sha256(page.url.encode()).hexdigest()[:16]}.txt", page.text)
        note = "; ".join(filter(None, (note, f"{over} characters omitted; Read the full page in {where}")))
    head = f"# {page.title}\n{page.url}" if page.title else page.url
    body = (page.text[:room].strip() + cut) or "(the page contains no text)"
    return "\n\n".join(filter(None, (head, body, f"({note})" if note else "")))


def _web(bench: Workbench) -> OpenWeb:
    web: OpenWeb = bench.service("web_search")
    return web
