"""Looking at a tab: its frames' views put together, and elements found again by the ids these gave them."""

from __future__ import annotations

import asyncio
import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from quintet.domain.base.errors import ToolFailed
from quintet.features.browser.chromium import failure
from quintet.features.browser.page_view import MOST_CHARACTERS, MOST_LINES, MOST_URL, PageView, cut
from quintet.features.browser.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame

LOOK_SECONDS = 20.0
FRAME_SECONDS = 5.0
MOST_MILLISECONDS = 3000  # that the script itself may take
MOST_FRAMES = 20
MOST_DEPTH = 4
MOST_TRIES = 3
GOING = ("context was destroyed", "no longer runnable", "Cannot find context", "detached", "navigation")
FIND = """number => {
  const found = window[Symbol.for("quintet.page")]?.elements.get(number)?.deref();
  return found?.isConnected ? found : null;
}"""
_ID = re.compile(r"\[?(?:f(?P<frame>\d+):)?(?P<number>\d+)\]?")


@cache
def _script() -> str:
    with open(os.path.join(os.path.dirname(__file__), "view.js"), encoding="utf-8") as file:
        return file.read()


async def look(tab: Tab, url: str, tabs: tuple[str, ...]) -> PageView:
    """The tab's page as it is now; a page whose scripts never pause is a ToolFailed."""
    tab.check()
    looker = _Looker(tab)
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            found = await looker.look_from_the_top()
    except TimeoutError:
        raise ToolFailed(
            f"the page does not respond within {LOOK_SECONDS:g} s: a script keeps it busy. "
            "browser_navigate leaves it, browser_restart restarts the browser"
        ) from None
    seen, fold, unseen = looker.bounded(found)
    return PageView(
        url=url,
        title=found["title"],
        document=found["document"],
        lines=tuple(seen),
        fold=fold,
        above=found["above"],
        below=found["below"] + found["beyond"],
        unseen=found["unseen"] + unseen,
        unfinished=found["unfinished"],
        width=found["width"],
        height=found["height"],
        top=found["top"],
        whole=found["whole"],
        tab=tab.number,
        tabs=tabs,
    )


class _Looker:
    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._frames = 0

    async def look_from_the_top(self) -> dict[str, Any]:
        """Look at the whole tab; a page that goes while it is looked at is looked at again."""
        for _ in range(MOST_TRIES):
            try:
                return await self.look_at(self._tab.page.main_frame, "", 0)
            except failure() as error:
                if not any(words in str(error) for words in GOING):
                    raise
            await self._tab.settle(LOOK_SECONDS)
        return await self.look_at(self._tab.page.main_frame, "", 0)

    async def look_at(self, frame: Frame, prefix: str, depth: int) -> dict[str, Any]:
        share = 2 if depth else 1
        options = {
            "next": self._tab.ids.next,
            "prefix": prefix,
            "mostLines": MOST_LINES // share,
            "mostCharacters": MOST_CHARACTERS // share,
            "mostMilliseconds": MOST_MILLISECONDS // share,
        }
        found: dict[str, Any] = await frame.evaluate(_script(), options)
        self._tab.ids.next = found["next"]
        found["beyond"] = 0
        for part in ("seen", "later"):
            found[part] = [line for item in found[part] for line in await self._lines(frame, item, depth)]
        return found

    async def _lines(self, frame: Frame, item: dict[str, Any], depth: int) -> list[str]:
        """A line of the view; where it stands for a frame, that one's lines."""
        if "frame" not in item:
            return [item["text"]]
        self._frames += 1
        if self._frames > MOST_FRAMES or depth >= MOST_DEPTH:
            return [f"frame {item['text']} (too many frames: not read)"]
        element = (await frame.evaluate_handle(FIND, item["frame"])).as_element()
        child = await element.content_frame() if element else None
        if child is None:
            return []
        number = self._tab.ids.frames.setdefault(child, len(self._tab.ids.frames) + 1)
        if not child.url or child.url.startswith("chrome-error:"):
            return [f"frame f{number} (nothing was loaded into it)"]
        head = " ".join(filter(None, ("frame", f"f{number}", item["text"], cut(child.url, MOST_URL))))
        try:
            async with asyncio.timeout(FRAME_SECONDS):
                found = await self.look_at(child, f"f{number}:", depth + 1)
        except TimeoutError:
            return [f"{head} (does not respond)"]
        hidden = found["unseen"] + found["below"] + (len(found["later"]) if depth else 0)
        lines = found["seen"] + found["later"]
        more = [f"  ({hidden} more lines in f{number})"] if hidden else []
        return [head, *(f"  {line}" for line in lines), *more]

    def bounded(self, found: dict[str, Any]) -> tuple[list[str], int, int]:
        """What is shown of the lines, how many of these are on screen, and how many that are do not fit."""
        kept: list[str] = []
        room = MOST_CHARACTERS
        on_screen = len(found["seen"])
        for line in found["seen"] + found["later"]:
            room -= len(line) + 1
            if room < 0 or len(kept) >= MOST_LINES:
                break
            kept.append(line)
        fold = min(on_screen, len(kept))
        found["beyond"] = len(found["later"]) - (len(kept) - fold)
        return kept, fold, on_screen - fold


async def element(tab: Tab, id: str) -> ElementHandle:
    """The element with an id that a view gave it."""
    match = _ID.fullmatch(id.strip())
    if not match:
        raise ToolFailed(f'element_id "{id}": expected an id from browser_view, for example 12 or f2:7')
    frame: Frame | None = tab.page.main_frame
    if match["frame"]:
        frame = next((f for f, n in tab.ids.frames.items() if n == int(match["frame"]) and not f.is_detached()), None)
    if frame:
        async with asyncio.timeout(LOOK_SECONDS):
            found = (await frame.evaluate_handle(FIND, int(match["number"]))).as_element()
        if found:
            return found
    raise ToolFailed(f"element {id} is not on the page now; browser_view shows the current elements with their ids")


def named(tab: Tab, id: str) -> str:
    """An element as it was last shown, for telling what was done to it."""
    plain = id.strip().strip("[]")
    lines = tab.shown.lines if tab.shown else ()
    pattern = re.compile(rf'\[{re.escape(plain)} (?:"(?:[^"\\]|\\.)*"|[^\]"])*\]')
    found = next((match[0] for line in lines if (match := pattern.search(line))), f"[{plain}]")
    return found if len(found) <= 120 else f"{found[:118]}…]"
