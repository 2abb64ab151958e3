"""A recording: the pictures that the browser sends of a tab whenever it changes, made into a video at the end.

The browser encodes them itself, so nothing else has to be installed. Pictures wait in a temporary folder; a browser
that ends meanwhile takes none of them with it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from quintet.adapters.files.private_files import private
from quintet.adapters.files.temporary_folders import temporary_folder
from quintet.domain.base.errors import ToolFailed
from quintet.features.browser.chromium import HEIGHT, WIDTH, RunningBrowser
from quintet.features.browser.tab import Tab
from quintet.features.browser.webm import WebmWriter

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Route

MOST_SECONDS = 600.0
MOST_BYTES = 1_000_000_000
LEAST_APART = 0.08  # seconds between two pictures
AT_ONCE = 40  # pictures encoded in one go
LAST_SECONDS = 5.0
BATCH_SECONDS = 60.0
HOST = "quintet-recording.localhost"


class Screencast:
    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._folder = temporary_folder()
        self._begun = time.monotonic()
        self._ended = 0.0
        self._pictures: list[tuple[str, float]] = []  # name, and when
        self._size = 0
        self._tab: Tab | None = None
        self._session: CDPSession | None = None
        self._acks: set[asyncio.Task[None]] = set()

    async def follow(self, tab: Tab) -> None:
        """Record this tab from now on."""
        if tab is self._tab or self._ended:
            return
        await self._let_go()
        self._tab = tab
        self._session = session = await tab.page.context.new_cdp_session(tab.page)
        session.on("Page.screencastFrame", lambda sent: self._take(session, sent))
        limits = {"maxWidth": WIDTH, "maxHeight": HEIGHT}
        await session.send("Page.startScreencast", {"format": "jpeg", "quality": 80, "everyNthFrame": 1, **limits})

    def _take(self, session: CDPSession, sent: dict[str, Any]) -> None:
        ack = asyncio.ensure_future(_quietly(session.send("Page.screencastFrameAck", {"sessionId": sent["sessionId"]})))
        self._acks.add(ack)
        ack.add_done_callback(self._acks.discard)
        if not self._ended and session is self._session:
            self._keep(base64.b64decode(sent["data"]))

    def _keep(self, data: bytes) -> None:
        at = time.monotonic() - self._begun
        if at > MOST_SECONDS or self._size > MOST_BYTES:
            self._ended = at
            self._tell(f"the recording ended after {at:.0f} s, the longest allowed; recording_stop shows the file")
            return
        name = f"{len(self._pictures)}.jpg"
        if self._pictures and at - self._pictures[-1][1] < LEAST_APART:
            name = self._pictures.pop()[0]  # too soon after the last: takes its place
        with open(os.path.join(self._folder, name), "wb") as file:
            file.write(data)
        self._size += len(data)
        self._pictures.append((name, at))

    async def stop(self) -> None:
        if self._session and not self._ended:  # a picture of how it ended, whether or not it has been sent yet
            with contextlib.suppress(Exception):
                async with asyncio.timeout(LAST_SECONDS):
                    shot = await self._session.send("Page.captureScreenshot", {"format": "jpeg", "quality": 80})
                self._keep(base64.b64decode(shot["data"]))
        self._ended = self._ended or time.monotonic() - self._begun
        await self._let_go()

    async def _let_go(self) -> None:
        session, self._session, self._tab = self._session, None, None
        if session:
            await _quietly(session.send("Page.stopScreencast"))
            await _quietly(session.detach())

    async def encode(
        self, running: RunningBrowser, path: str, progress: Callable[[str], None]
    ) -> tuple[float, int, int]:
        """Write the video; returns its length in seconds, its frames and its size."""
        if not self._pictures:
            raise ToolFailed("nothing was recorded: the page was never drawn")
        width, height = _size_of(os.path.join(self._folder, self._pictures[0][0]))
        first = self._pictures[0][1]
        frames = [(name, round((at - first) * 1000)) for name, at in self._pictures]
        length = max(round((self._ended - first) * 1000), frames[-1][1] + 100)
        if length - frames[-1][1] > 100:
            frames.append((frames[-1][0], length - 100))  # so that the last picture stays to the end
        context = await running.new_context()
        try:
            await context.route(lambda url: True, self._serve)
            page = await context.new_page()
            await page.goto(f"http://{HOST}/")
            with open(path, "wb", opener=private) as file:
                writer = WebmWriter(file, width, height)
                for begin in range(0, len(frames), AT_ONCE):
                    some = [{"name": name, "at": at} for name, at in frames[begin : begin + AT_ONCE]]
                    last = begin + AT_ONCE >= len(frames)
                    options = {"pictures": some, "width": width, "height": height, "last": last}
                    async with asyncio.timeout(BATCH_SECONDS):
                        chunks = await page.evaluate(_script(), options)
                    for chunk in chunks:
                        writer.add(chunk["at"], chunk["key"], base64.b64decode(chunk["data"]))
                    progress(f"encoded {min(begin + AT_ONCE, len(frames))} of {len(frames)} pictures\n")
                writer.close(length)
                return length / 1000, len(frames), file.tell()
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            raise
        finally:
            await _quietly(context.close())

    async def _serve(self, route: Route) -> None:
        name = os.path.basename(urlsplit(route.request.url).path)
        if not name:
            await route.fulfill(body="<title>recording</title>", content_type="text/html")
        elif os.path.exists(os.path.join(self._folder, name)):
            await route.fulfill(path=os.path.join(self._folder, name))
        else:
            await route.fulfill(status=404)

    def discard(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _script() -> str:
    with open(os.path.join(os.path.dirname(__file__), "encode.js"), encoding="utf-8") as file:
        return file.read()


def _size_of(path: str) -> tuple[int, int]:
    """Width and height of a JPEG, made even."""
    with open(path, "rb") as file:
        data = file.read()
    place = 2
    while place + 9 < len(data):
        kind, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        if kind in (0xC0, 0xC1, 0xC2):
            height, width = (int.from_bytes(data[place + n : place + n + 2], "big") for n in (5, 7))
            return width // 2 * 2, height // 2 * 2
        place += 2 + length
    return WIDTH, HEIGHT


async def _quietly(work: Any) -> None:
    """What may fail because the tab is gone."""
    with contextlib.suppress(Exception):
        await work
