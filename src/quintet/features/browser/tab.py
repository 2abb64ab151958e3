"""One tab: its page, and what happens to it while nobody looks: dialogs, console, downloads, requests, crashes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.permission.private_hosts import Access
from quintet.features.browser.chromium import HEIGHT, WIDTH
from quintet.features.browser.page_view import PageView

if TYPE_CHECKING:
    from playwright.async_api import (
        CDPSession,
        ConsoleMessage,
        Dialog,
        Download,
        Error,
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


class Console:
    """What a page wrote there, the newest; read once."""

    def __init__(self) -> None:
        self.errors = 0  # since the last call
        self._messages: deque[str] = deque(maxlen=MOST_MESSAGES)
        self._dropped = 0

    def write(self, kind: str, text: str) -> None:
        self._dropped += len(self._messages) == MOST_MESSAGES
        self.errors += kind == "error"
        cut = "…" if len(text) > MOST_MESSAGE else ""
        self._messages.append(f"{kind}: {text[:MOST_MESSAGE]}{cut}")

    def on_message(self, message: ConsoleMessage) -> None:
        where = message.location
        if where.get("url", "").endswith("/favicon.ico"):
            return  # the browser itself asks for it
        place = f" ({where['url']}:{where['lineNumber'] + 1})" if where.get("url") else ""
        self.write(message.type, f"{message.text}{place}")

    def on_error(self, error: Error) -> None:
        self.write("error", "\n".join((error.stack or str(error)).split("\n")[:2]))

    def read(self) -> list[str]:
        """What was written since the last look."""
        lines = [f"({self._dropped} older messages were removed)"] if self._dropped else []
        lines += self._messages
        self._messages.clear()
        self._dropped = self.errors = 0
        return lines


class Loading:
    """Where a tab was sent, and what it still loads."""

    def __init__(self) -> None:
        self.sent_to = ""
        self.failed = ""  # the address of the last page that did not come
        self.requests: set[Request] = set()  # under way
        self._said_why = asyncio.Event()  # the page that says why another did not come is there

    def begin(self, url: str) -> None:
        """Forget what belonged to the page that was there."""
        self.requests.clear()
        self._said_why.clear()
        self.sent_to = url

    def on_request(self, request: Request) -> None:
        if request.resource_type not in NEVER_ENDING:
            self.requests.add(request)

    def on_arrival(self, frame: Frame) -> None:
        if frame.url.startswith("chrome-error:"):
            self._said_why.set()

    def on_finished(self, request: Request) -> None:
        self.requests.discard(request)

    def on_failed(self, request: Request) -> None:
        self.requests.discard(request)
        if request.is_navigation_request():
            self.failed = request.url

    @property
    def navigating(self) -> bool:
        return any(request.is_navigation_request() and _main(request) for request in self.requests)

    async def reach_error_page(self) -> None:
        """Wait for the page that says why another did not come: until then it would get in the way of the next."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._said_why.wait(), 1)


class ElementIds:
    """The numbers that a model is given for elements and frames."""

    def __init__(self) -> None:
        self.next = 1
        self.frames: dict[Frame, int] = {}


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
        self.ids = ElementIds()
        self.loading = Loading()
        self.console = Console()
        self.screen: tuple[int, int, str] | None = None  # the phone's that it shows its pages on
        self._news = news
        self._stirred = asyncio.Event()  # a dialog opened, the page crashed or closed
        self._left: set[asyncio.Task[Any]] = set()  # actions that wait for a dialog to be answered
        self._session: CDPSession | None = None
        page.on("dialog", self._on_dialog)
        page.on("filechooser", self._on_chooser)
        page.on("download", on_download)
        page.on("crash", lambda _: self._gone(crashed=True))
        page.on("close", lambda _: self._gone(crashed=False))
        page.on("request", self.loading.on_request)
        page.on("requestfinished", self.loading.on_finished)
        page.on("requestfailed", self.loading.on_failed)
        page.on("framenavigated", self.loading.on_arrival)
        page.on("console", lambda message: self.console.on_message(message))  # it may become another tab's
        page.on("pageerror", lambda error: self.console.on_error(error))

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
        self._news(f"the page asks for {many}: use browser_select_file")

    def _gone(self, *, crashed: bool) -> None:
        self.crashed, self.closed = crashed, not crashed
        self.dialog = self.chooser = None
        self.loading.requests.clear()
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
        own = "; browser_type answers it with text" if kind == "prompt" else ""
        return f'a {kind} dialog is open: "{self.dialog.message[:MOST_MESSAGE]}". {ANSWERS}{own}'

    async def settle(self, navigation_seconds: float) -> str:
        """Wait, a bounded while, until nothing loads; returns what still does."""
        loop = asyncio.get_running_loop()
        begun, quiet = loop.time(), 0
        while quiet < QUIET_TICKS:
            if self.dialog or self.crashed or self.closed:
                return ""
            spent = loop.time() - begun
            if spent > (navigation_seconds if self.loading.navigating else SETTLE_SECONDS):
                number = len(self.loading.requests)
                return f"still loading: {counted(number, 'request')} running; use browser_view again"
            quiet = 0 if self.loading.requests else quiet + 1
            await asyncio.sleep(TICK_SECONDS)
        return ""

    async def devtools(self) -> CDPSession:
        if self._session is None:
            self._session = await self.page.context.new_cdp_session(self.page)
        return self._session

    def leave_page(self, url: str) -> None:
        """Forget what belonged to the page that was there, and remember where it goes."""
        self.loading.begin(url)
        self.chooser = None

    async def take_over(self, other: Tab) -> None:
        """Go on as the tab that another was: its console, its screen, and no id that it has given."""
        self.ids.next, self.console = other.ids.next, other.console
        if other.screen:
            await self.emulate(*other.screen)

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
