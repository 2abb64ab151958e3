"""The web for a session's tools: put together when a tool first asks, so that no other start pays for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quintet.domain.outside_ports import Found, Page, Sought, Web
from quintet.domain.settings import Settings


class _Late:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: Web | None = None

    def _web(self) -> Web:
        if self._made is None:
            from quintet.adapters.open_web import OpenWeb

            self._made = OpenWeb(self._settings.web)
        return self._made

    async def search(self, sought: Sought) -> tuple[list[Found], str]:
        return await self._web().search(sought)

    async def pages(self, urls: Sequence[str], tell: Callable[[str], None]) -> list[Page | str]:
        return await self._web().pages(urls, tell)


def make_web(settings: Settings) -> Web:
    return _Late(settings)
