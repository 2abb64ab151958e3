"""One tab: its page, and what happens to it while nobody looks: dialogs, console, downloads, requests, crashes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.private_hosts import Access
from quintet.features.browser.chromium import HEIGHT, WIDTH
from quintet.features.browser.page_view import PageView

if TYPE_CHECKING:
    from playwright.async_api import (
        CDPSession,
        ConsoleMessage,
        Dialog,
        Download,
        FileChooser,
        Frame,
        Page,
        Request,
    )

MOST_MESSAGES = 200
MOST_MESSAGE = 500  # characters of one
NEVER_ENDING = frozenset({"eventsource", "websocket", "media", "ping", "texttrack"})
TICK_SECONDS = 0.03
QUIET_TICKS = 2
SETTLE_SECONDS = 3.0  # for what a page loads after an action
ANSWERS = "browser_press_key Enter accepts it, Escape dismisses it"

T = TypeVar("T")


class Tab:
    def __init__(
        self,
        number: int,
        page: Page,
        access: Access,
        news: Callable[[str], None],
        on_download: Callable[[Download], None],
    ) -> None:
        self.number = number
        self.page = page
        self.access = access  # what its pages reach
        self.dialog: Dialog | None = None
        self.chooser: FileChooser | None = None
        self.crashed = False
        self.closed = False
        self.shown: PageView | None = None  # what was last told of it
        self.next = 1  # the number of the next element
        self.frames: dict[Frame, int] = {}
        self.loaded = ""  # the address it was last sent to
        self.failed = ""  # the address of the last page that did not come
        self.messages: deque[str] = deque(maxlen=MOST_MESSAGES)
        self.dropped = 0
        self.errors = 0  # in the console, since the last call
        self.screen: tuple[int, int, str] | None = None  # the phone's that it shows its pages on
        self._news = news
        self._under_way: set[Request] = set()
        self._stirred = asyncio.Event()  # a dialog opened, the page crashed or closed
        self._left: set[asyncio.Task[Any]] = set()  # actions that wait for a dialog to be answered
        self._session: CDPSession | None = None
        self._said_why = asyncio.Event()  # the page that says why another did not come is there
        page.on("dialog", self._on_dialog)
        page.on("filechooser", self._on_chooser)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._write("error", "\n".join((error.stack or str(error)).split("\n")[:2])))
        page.on("download", on_download)
        page.on("crash", lambda _: self._gone(crashed=True))
        page.on("close", lambda _: self._gone(crashed=False))
        page.on("framenavigated", self._on_arrival)
        page.on("request", self._on_request)
        page.on("requestfinished", lambda request: self._under_way.discard(request))
        page.on("requestfailed", self._on_failed)

    # ── what happens

    def _on_dialog(self, dialog: Dialog) -> None:
        said = f'{dialog.type} dialog: "{dialog.message[:MOST_MESSAGE]}"'
        if dialog.type in ("alert", "beforeunload"):
            self._news(f"{said} (accepted)")
            self._leave(_ignored(dialog.accept()))
            return
        self.dialog = dialog
        self._stirred.set()

    def _on_chooser(self, chooser: FileChooser) -> None:
        self.chooser = chooser
        many = "files" if chooser.is_multiple() else "a file"
        self._news(f"the page asks for {many}: browser_select_file gives it")

    def _on_console(self, message: ConsoleMessage) -> None:
        where = message.location
        if where.get("url", "").endswith("/favicon.ico"):
            return  # the browser itself asks for it
        place = f" ({where['url']}:{where['lineNumber'] + 1})" if where.get("url") else ""
        self._write(message.type, f"{message.text}{place}")

    def _write(self, kind: str, text: str) -> None:
        self.dropped += len(self.messages) == MOST_MESSAGES
        self.errors += kind == "error"
        self.messages.append(f"{kind}: {text[:MOST_MESSAGE]}{'…' * (len(text) > MOST_MESSAGE)}")

    def _on_request(self, request: Request) -> None:
        if request.resource_type not in NEVER_ENDING:
            self._under_way.add(request)

    def _on_arrival(self, frame: Frame) -> None:
        if frame.url.startswith("chrome-error:"):
            self._said_why.set()

    def _on_failed(self, request: Request) -> None:
        self._under_way.discard(request)
        if request.is_navigation_request():
            self.failed = request.url

    def _gone(self, *, crashed: bool) -> None:
        self.crashed, self.closed = crashed, not crashed
        self.dialog = self.chooser = None
        self._under_way.clear()
        self._stirred.set()

    # ── working with it

    async def during(self, work: Coroutine[Any, Any, T], seconds: float) -> T | None:
        """Do something that a dialog may hold up: None if one has, or if the page went away meanwhile.

        At the time limit a TimeoutError is raised and the work given up.
        """
        self._stirred.clear()
        task = asyncio.ensure_future(work)
        stirred = asyncio.ensure_future(self._stirred.wait())
        try:
            await asyncio.wait({task, stirred}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            stirred.cancel()
        if task.done():
            return task.result()
        if self.dialog:
            self._leave(_ignored(task))
            return None
        task.cancel()
        if self.crashed or self.closed:
            self._leave(_ignored(task))
            return None
        raise TimeoutError

    async def answer_dialog(self, accept: bool, text: str | None = None) -> str:
        """Answer the dialog that is open; what it held up then goes on."""
        dialog, self.dialog = self.dialog, None
        assert dialog
        await _ignored(dialog.accept(dialog.default_value if text is None else text) if accept else dialog.dismiss())
        what = "answered" if text is not None else "accepted" if accept else "dismissed"
        return f'{what} the {dialog.type} "{dialog.message[:MOST_MESSAGE]}"'

    def open_dialog(self) -> str:
        """What a model is told about the dialog that is open."""
        assert self.dialog
        kind = self.dialog.type
        own = "; browser_type answers it with a text" if kind == "prompt" else ""
        return f'a {kind} dialog is open: "{self.dialog.message[:MOST_MESSAGE]}". {ANSWERS}{own}'

    async def settle(self, navigation_seconds: float) -> str:
        """Wait, a bounded while, until nothing loads; returns what still does."""
        loop = asyncio.get_running_loop()
        begun, quiet = loop.time(), 0
        while quiet < QUIET_TICKS:
            if self.dialog or self.crashed or self.closed:
                return ""
            spent = loop.time() - begun
            navigating = any(r.is_navigation_request() and _main(r) for r in self._under_way)
            if spent > (navigation_seconds if navigating else SETTLE_SECONDS):
                number = len(self._under_way)
                return f"still loading: {number} request{'s' * (number != 1)} under way; browser_view looks again"
            quiet = 0 if self._under_way else quiet + 1
            await asyncio.sleep(TICK_SECONDS)
        return ""

    async def reach_error_page(self) -> None:
        """Wait for the page that says why another did not come: until then it would get in the way of the next."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._said_why.wait(), 1)

    async def devtools(self) -> CDPSession:
        if self._session is None:
            self._session = await self.page.context.new_cdp_session(self.page)
        return self._session

    def leave_page(self, url: str) -> None:
        """Forget what belonged to the page that was there, and remember where it goes."""
        self._under_way.clear()
        self._said_why.clear()
        self.chooser = None
        self.loaded = url

    async def take_over(self, other: Tab) -> None:
        """Go on as the tab that another was: its console, its screen, and no id that it has given."""
        self.next, self.messages, self.dropped, self.errors = other.next, other.messages, other.dropped, other.errors
        if other.screen:
            await self.emulate(*other.screen)

    def read_console(self) -> list[str]:
        """What the page wrote since the last look."""
        lines = [f"({self.dropped} older messages were dropped)"] if self.dropped else []
        lines += self.messages
        self.messages.clear()
        self.dropped = self.errors = 0
        return lines

    async def emulate(self, width: int, height: int, agent: str) -> tuple[int, int]:
        """A phone's screen if there is a phone's user agent, else a desktop's; returns its size."""
        self.screen = (width, height, agent) if agent else None
        if not agent:
            width, height = WIDTH, HEIGHT
        await self.page.set_viewport_size({"width": width, "height": height})
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": bool(agent)}
        devtools = await self.devtools()
        await devtools.send("Emulation.setDeviceMetricsOverride", screen)
        await devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": bool(agent)})
        await devtools.send("Emulation.setUserAgentOverride", {"userAgent": agent})
        return width, height

    async def interrupt(self) -> None:
        """Stop a script that does not end."""
        try:
            async with asyncio.timeout(2):
                await (await self.devtools()).send("Runtime.terminateExecution")
        except Exception:  # it answers nothing any more: the next call opens the page in a fresh tab
            self.crashed = True

    def _leave(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    def let_go(self) -> None:
        for task in self._left:
            task.cancel()

    def check(self) -> None:
        """A ToolFailed if nothing can be done to it now."""
        if self.dialog:
            raise ToolFailed(f"tab {self.number}: {self.open_dialog()}")


def _main(request: Request) -> bool:
    try:
        return request.frame.parent_frame is None
    except Exception:  # a frame that is gone, or not there yet
        return True


async def _ignored(work: Awaitable[Any]) -> None:
    """Work whose failure nobody waits for: the page may be gone."""
    with contextlib.suppress(Exception):
        await work
