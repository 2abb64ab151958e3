"""The browser's contexts, one for each kind of access: pages of the web, of the project, of the project with a network.

Nothing passes between two of them: no window, frame, message, worker, cookie or connection. What a page opens, by
whatever means, is in its own. So what a page can reach is settled when its tab is opened, and no script changes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quintet.domain.permission.private_hosts import Access
from quintet.features.browser.chromium import RunningBrowser
from quintet.features.browser.project_pages import ProjectPages

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page


class Contexts:
    def __init__(self, pages: ProjectPages, on_page: Callable[[Page], None]) -> None:
        self._pages = pages
        self._on_page = on_page
        self._made: dict[Access, BrowserContext] = {}
        self._opening = False

    async def new_page(self, running: RunningBrowser, access: Access) -> Page:
        """A page of our own; `on_page` is told of those that pages open."""
        context = self._made.get(access) or await self._new(running, access)
        self._opening = True
        try:
            return await context.new_page()
        finally:
            self._opening = False

    async def _new(self, running: RunningBrowser, access: Access) -> BrowserContext:
        context = await running.new_context(network=access is not Access.PROJECT)
        if access is not Access.WEB:
            await self._pages.serve(context)
        context.on("page", self._came)
        self._made[access] = context
        return context

    def _came(self, page: Page) -> None:
        if not self._opening:
            self._on_page(page)

    def access_of(self, page: Page) -> Access:
        """What a page reaches; all of it, if its context is gone already: then no tab of it is used again."""
        return next((access for access, context in self._made.items() if context == page.context), Access.BOTH)

    def forget(self) -> None:
        """The browser is gone."""
        self._made = {}
