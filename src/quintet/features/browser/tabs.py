"""The browser's tabs, from its start to its end: which one a call is about, where they go, and what happened meanwhile.

A browser or a tab that ends unexpectedly is started anew at the next call, its page opened again, and that is told.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from quintet.adapters.http.fetch import Resolve, Served
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.permission.private_hosts import Access
from quintet.domain.ports.ports import Files
from quintet.domain.settings.settings import Settings
from quintet.features.browser import navigate as navigation
from quintet.features.browser.chromium import RunningBrowser, failure, start, too_late
from quintet.features.browser.contexts import Contexts
from quintet.features.browser.downloads import Downloads
from quintet.features.browser.project_pages import ProjectPages
from quintet.features.browser.proxy import WayOut
from quintet.features.browser.settings import BrowserSettings
from quintet.features.browser.tab import Tab
from quintet.features.browser.values import HERE

if TYPE_CHECKING:
    from playwright.async_api import Download, Page, Response

MOST_TABS = 20
MOST_NEWS = 20
LOAD_SECONDS = 5.0  # for the rest of a page whose text is there
UNFINISHED = "the page has not finished loading; use browser_view again"
ENDED = "the browser had crashed and was restarted"


class Tabs:
    def __init__(
        self, files: Files, outputs: str, settings: Settings, own_code: bool, resolve: Resolve, served: Served
    ) -> None:
        self.running: RunningBrowser | None = None
        self.pages = ProjectPages(files, own_code)
        self.downloads = Downloads(outputs, self.tell)
        self._settings = settings.table("browser", BrowserSettings)
        self._way_out = WayOut(settings.web.allow_hosts, resolve, served)
        self._starting: asyncio.Task[RunningBrowser] | None = None
        self._contexts = Contexts(self.pages, self._on_page)
        self._tabs: list[Tab] = []
        self._here = 0
        self._news: list[str] = []
        self._unsaid = 0  # news there was no room for
        self._left: set[asyncio.Task[Any]] = set()

    # ── which tab

    async def ready(self, number: int, *, access: Access | None = None, anew: bool = False) -> Tab:
        """The tab a call is about, in a browser that runs; with `access`, for a page that reaches this.

        Then the next number opens a new tab.

        Where the browser or the tab had to be opened again, what was to be done to it is not done, unless `anew` says
        that this does not matter.
        """
        lost = await self._brought_back(access)
        at = await self._numbered(HERE if lost else number, access)
        if at.crashed:
            at, lost = await self._replaced(at, access), True
        if access and at.access is not access:
            at = await self._moved(at, access)
        self._here = at.number
        if lost and not anew:
            told = "; ".join(self.heard(at))
            raise ToolFailed(f"{told}. Nothing was done, and ids are new: browser_view shows the page")
        return at

    async def _brought_back(self, elsewhere: Access | None) -> bool:
        """Have a browser that runs; returns whether there was one and it is gone."""
        lost = self.running is not None and not self.running.alive
        before = self._tabs[self._here] if lost and self._tabs else None
        access, address = (before.access, before.loading.sent_to) if before else (Access.WEB, "")
        if lost:
            await self.stop()
        if self.running is None:
            self.running = await self._started()
            try:
                await self._opened(elsewhere or access)
            except BaseException:
                await self.stop()
                raise
        if lost:
            self.tell(ENDED)
            await self._again(self._tabs[0], "" if elsewhere else address)
        return lost

    async def _started(self) -> RunningBrowser:
        """A browser; a call that is interrupted leaves it to the next one, or to `stop`."""
        if self._starting is None:
            self._starting = asyncio.ensure_future(start(self._settings, self._way_out))
        starting = self._starting
        try:
            return await asyncio.shield(starting)
        finally:
            if starting.done():
                self._starting = None

    async def _numbered(self, number: int, new: Access | None) -> Tab:
        there = [tab for tab in self._tabs if not tab.closed]
        if number == HERE:
            here = self._tabs[self._here]
            if not here.closed:
                return here
            return there[-1] if there else await self._opened(new or Access.WEB)
        if number == len(self._tabs) and new:
            if len(there) >= MOST_TABS:
                raise ToolFailed(f"{MOST_TABS} tabs are open, which is the limit; browser_restart closes them")
            return await self._opened(new)
        if 0 <= number < len(self._tabs) and not self._tabs[number].closed:
            return self._tabs[number]
        hint = f"; browser_navigate with tab_idx {len(self._tabs)} opens another"
        raise ToolFailed(f"tab_idx = {number}: no such tab. Open: {', '.join(str(tab.number) for tab in there)}{hint}")

    async def _opened(self, access: Access) -> Tab:
        tab = await self._fresh(len(self._tabs), access)
        self._tabs.append(tab)
        return tab

    async def _fresh(self, number: int, access: Access) -> Tab:
        assert self.running
        return self._tab(await self._contexts.new_page(self.running, access), number, access)

    async def _moved(self, at: Tab, access: Access) -> Tab:
        """A tab with another access in the place of one: no page ever gets another than it began with."""
        if at.dialog:
            self.tell(await at.answer_dialog(False))
        fresh = await self._fresh(at.number, access)
        await fresh.take_over(at)
        self._tabs[at.number] = fresh
        await _closed(at.page)
        return fresh

    async def _replaced(self, at: Tab, elsewhere: Access | None) -> Tab:
        """A fresh tab in the place of one that crashed."""
        self.tell(f"tab {at.number} had crashed and was reopened")
        address = at.loading.sent_to
        await _closed(at.page)
        fresh = self._tabs[at.number] = await self._fresh(at.number, at.access)
        await self._again(fresh, "" if elsewhere else address)
        return fresh

    async def _again(self, at: Tab, address: str) -> None:
        if not address:
            return
        try:
            await at.during(self.go(at, address), self._settings.timeout)
            self.tell(f"{address} was opened again")
        except (ToolFailed, TimeoutError) as error:
            self.tell(f"{address} could not be opened again: {error}")

    def _tab(self, page: Page, number: int, access: Access) -> Tab:
        return Tab(number, page, access, self.tell, self._on_download)

    def others(self, at: Tab) -> tuple[str, ...]:
        """The open tabs beside one, each with its number."""
        others = [tab for tab in self._tabs if not tab.closed and tab is not at]
        return tuple(f"{tab.number} {self.pages.shown(tab.page.url)[:80]}" for tab in others)

    # ── where it goes

    async def go(self, at: Tab, url: str) -> str:
        path = navigation.path_of(url)
        inner = self.pages.inside(path) if path else url
        begun, limit = self.downloads.begun, max(self._settings.timeout, 1.0)
        at.leave_page(url)
        try:
            answer = await self._committed(at, inner, limit)
        except too_late():
            raise ToolFailed(
                f"{url}: no answer within {limit:g} s; is the server running, and is this its port?"
            ) from None
        except failure() as error:
            if self.downloads.begun > begun or "Download is starting" in str(error):
                await self.downloads.one_more(begun)
                return f"{url} is a download"
            if "net::" in str(error):
                await at.loading.reach_error_page()
                raise ToolFailed(self._why(at, url, error)) from None
            raise
        status = f" (HTTP {answer.status} {answer.status_text})" if answer and answer.status >= 400 else ""
        try:
            await at.page.wait_for_load_state("domcontentloaded", timeout=limit * 1000)
            await at.page.wait_for_load_state("load", timeout=LOAD_SECONDS * 1000)
        except too_late():
            self.tell(UNFINISHED)
        return f"opened {url}{status}"

    async def _committed(self, at: Tab, url: str, seconds: float) -> Response | None:
        """The answer that a page begins with."""
        for _ in range(3):
            try:
                return await at.page.goto(url, wait_until="commit", timeout=seconds * 1000)
            except failure() as error:  # the page that says why the last one did not come may itself come late
                _, interrupted, other = str(error).partition("interrupted by another navigation to ")
                if not interrupted or not other.startswith((f'"{url}', '"chrome-error:')):
                    raise
        return await at.page.goto(url, wait_until="commit", timeout=seconds * 1000)

    async def reload(self, at: Tab) -> str:
        if at.page.url == "about:blank":
            return ""
        try:
            await at.page.reload(wait_until="domcontentloaded", timeout=self._settings.timeout * 1000)
        except too_late():
            self.tell(UNFINISHED)
        except failure() as error:
            if "net::" not in str(error):
                raise
            raise ToolFailed(self._why(at, self.pages.shown(at.page.url), error)) from None
        return "reloaded"

    def _why(self, at: Tab, url: str, error: Exception) -> str:
        """Why a page did not come, and what to do; a redirect may have led to another host."""
        problem = self._way_out.problem(urlsplit(at.loading.failed).hostname or "") if "ERR_SOCKS" in str(error) else ""
        return f"{url}: {problem}" if problem else navigation.why(url, error)

    async def guarded(self, work: Awaitable[Any]) -> Any:
        """Playwright's errors as ours; one that is a time limit is a TimeoutError."""
        try:
            return await work
        except too_late():
            raise TimeoutError from None
        except failure() as error:
            if self.running is None or not self.running.alive:
                raise ToolFailed("the browser crashed; the next call restarts it") from None
            first = str(error).strip().partition("\n")[0]
            raise ToolFailed(first.partition(": ")[2][:1000] or first[:1000]) from None

    # ── what happens

    def _on_page(self, page: Page) -> None:
        if sum(not tab.closed for tab in self._tabs) >= MOST_TABS:
            self.tell(f"a page opened more tabs than the {MOST_TABS} allowed; the new one was closed")
            self._later(_closed(page))
            return
        tab = self._tab(page, len(self._tabs), self._contexts.access_of(page))
        self._tabs.append(tab)
        self.tell(f"a new tab opened: tab_idx {tab.number}")

    def _on_download(self, download: Download) -> None:
        if self.running:
            self.downloads.take(download, self.running.folder)

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    def tell(self, text: str) -> None:
        if len(self._news) < MOST_NEWS:
            self._news.append(text)
        else:
            self._unsaid += 1

    def heard(self, at: Tab) -> tuple[str, ...]:
        """What happened since the last call."""
        notes, self._news = [*self._news, *self._way_out.refused()], []
        if self._unsaid:
            notes.append(f"{self._unsaid} more similar events")
        if errors := at.console.errors:
            notes.append(f"{counted(errors, 'error')} in the console: browser_console shows them")
        if at.closed:
            notes.append(f"tab {at.number} was closed")
        if at.crashed:
            notes.append(f"tab {at.number} crashed; the next call reopens it")
        self._unsaid = at.console.errors = 0
        return tuple(notes)

    async def stop(self) -> None:
        running, self.running = self.running, None
        for tab in self._tabs:
            tab.let_go()
        for task in self._left:
            task.cancel()
        self._tabs, self._here = [], 0
        self._contexts.forget()
        await self.downloads.close()
        if self._starting:
            with contextlib.suppress(Exception):  # whoever asked for it was told
                running = await self._starting
            self._starting = None
        if running:
            await asyncio.shield(running.stop())


async def _closed(page: Page) -> None:
    with contextlib.suppress(Exception):  # it is gone already, or never answers: the browser's end ends it too
        async with asyncio.timeout(2):
            await page.close()
