"""The session's browser: started at its first use, one call at a time, closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from quintet.adapters.files.private_files import private
from quintet.adapters.http.fetch import Resolve, Served, looked_up
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.private_hosts import Access, access_for
from quintet.domain.ports.ports import Files
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.features.browser import act as acting
from quintet.features.browser.downloads import free_path
from quintet.features.browser.look import look
from quintet.features.browser.navigate import address, path_of
from quintet.features.browser.screencast import Screencast
from quintet.features.browser.settings import BrowserSettings
from quintet.features.browser.tab import Tab
from quintet.features.browser.tabs import LOAD_SECONDS, Tabs
from quintet.features.browser.values import HERE, Direction, Picture, Seen, Target, Upload, Video

if TYPE_CHECKING:
    from quintet.app.services import Opening

Act = Callable[[Tab], Coroutine[Any, Any, str]]

ACT_SECONDS = 60.0
EVALUATE_SECONDS = 10.0
PICTURE_SECONDS = 10.0
DOWNLOAD_SECONDS = 5.0  # that a call waits for a download; it is told of later if it takes longer
PHONE_WIDTH, PHONE_HEIGHT = 412, 915
PHONE_AGENT = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{} Mobile Safari/537.36"
)
STILL_LOADING = "a download is still running; a later call tells when it is finished"


class LocalBrowser:
    """One browser for a session, started at its first use. What fails is a ToolFailed that says what to do.

    `tab` is a tab's number, or HERE.
    """

    def __init__(
        self,
        files: Files,
        outputs: str,
        settings: Settings,
        *,
        own_code: bool = False,
        resolve: Resolve | None = None,
        served: Served = tuple,
    ) -> None:
        """`served` gives the ports of loopback that the session itself serves: those are open to it."""
        self._files = files
        self._outputs = outputs
        self._settings = settings
        self._timeout = settings.table("browser", BrowserSettings).timeout
        self._own_code = own_code
        self._resolve = resolve
        self._served = served
        self._made: Tabs | None = None
        self._turn = asyncio.Lock()
        self._screencast: Screencast | None = None

    @property
    def _tabs(self) -> Tabs:
        if self._made is None:
            resolve = self._resolve or looked_up
            self._made = Tabs(self._files, self._outputs, self._settings, self._own_code, resolve, self._served)
        return self._made

    async def close(self) -> None:
        if self._screencast:
            self._screencast.discard()
            self._screencast = None
        if self._made:
            await self._made.stop()

    # ── looking

    async def navigate(self, url: str, tab: int, network: bool = False) -> Seen:
        whole = address(url)
        if path := path_of(whole):
            self._tabs.pages.inside(path)  # one that cannot be read leaves the tab as it is
        async with self._turn:
            at = await self._ready(tab, access=access_for(whole, network), anew=True)
            if at.dialog:
                self._tabs.tell(await at.answer_dialog(False))
            return await self._after(at, self._tabs.go(at, whole), 2 * self._timeout + LOAD_SECONDS)

    async def view(self, tab: int, reload: bool) -> Seen:
        async with self._turn:
            at = await self._ready(tab, anew=True)
            at.check()
            at.shown = None
            return await self._after(at, self._tabs.reload(at) if reload else _nothing(), 2 * self._timeout)

    async def screenshot(self, tab: int) -> Picture:
        async with self._turn:
            at = await self._ready(tab, anew=True)
            at.check()
            try:
                data = await self._tabs.guarded(at.page.screenshot(timeout=PICTURE_SECONDS * 1000))
            except TimeoutError:
                raise ToolFailed("no screenshot is possible: a script keeps the page busy") from None
            path = await asyncio.to_thread(_keep, self._outputs, "screenshot.png", data)
            width, height = (int.from_bytes(data[place : place + 4], "big") for place in (16, 20))
            return Picture(path, width, height, self._tabs.heard(at))

    async def console(self, tab: int) -> tuple[list[str], tuple[str, ...]]:
        async with self._turn:
            at = await self._ready(tab, anew=True)
            return at.console.read(), self._tabs.heard(at)

    # ── acting

    async def click(self, target: Target, tab: int) -> Seen:
        return await self._act(tab, lambda at: acting.click(at, target))

    async def point(self, target: Target, tab: int) -> Seen:
        return await self._act(tab, lambda at: acting.point(at, target))

    async def type(self, text: str, target: Target, enter: bool, tab: int) -> Seen:
        return await self._act(
            tab,
            lambda at: acting.type_text(at, text, target, enter),
            {"prompt": lambda at: at.answer_dialog(True, text)},
        )

    async def press(self, keys: str, tab: int) -> Seen:
        async def into_dialog(at: Tab) -> str:
            key = acting.normal_key(keys.strip())
            if key not in ("Enter", "Escape"):
                at.check()
            return await at.answer_dialog(key == "Enter")

        return await self._act(tab, lambda at: acting.press(at, keys), {"prompt": into_dialog, "confirm": into_dialog})

    async def scroll(self, direction: Direction, element: str, tab: int) -> Seen:
        return await self._act(tab, lambda at: acting.scroll(at, direction, element))

    async def select_option(self, index: int, element: str, tab: int) -> Seen:
        return await self._act(tab, lambda at: acting.select_option(at, index, element))

    async def select_files(self, files: Sequence[Upload], tab: int) -> Seen:
        return await self._act(tab, lambda at: acting.select_files(at, files))

    async def evaluate(self, expression: str, tab: int) -> Seen:
        async with self._turn:
            at = await self._ready(tab)
            at.check()
            await self._tabs.guarded(at.devtools())  # by which a script that does not end is ended
            try:
                said = await self._tabs.guarded(at.during(acting.evaluate(at, expression), EVALUATE_SECONDS))
            except TimeoutError:
                await at.interrupt()
                raise ToolFailed(f"it took more than {EVALUATE_SECONDS:g} s and was stopped") from None
            await at.settle(self._timeout)
            notes = self._tabs.heard(at)
            return Seen("", (*notes, at.open_dialog())) if at.dialog else Seen(said or "", notes)

    async def set_mobile(self, enabled: bool, tab: int) -> Seen:
        async def set_up(at: Tab) -> str:
            assert self._tabs.running and self._tabs.running.browser
            agent = PHONE_AGENT.format(self._tabs.running.browser.version) if enabled else ""
            width, height = await at.emulate(PHONE_WIDTH, PHONE_HEIGHT, agent)
            await self._tabs.reload(at)
            return f"the screen is now {'a phone' if enabled else 'a desktop'}, {width}×{height}"

        return await self._act(tab, set_up)

    async def restart(self, url: str, network: bool = False) -> Seen:
        address(url)
        async with self._turn:
            await self._tabs.stop()
        return await self.navigate(url, HERE, network)

    # ── recording

    @property
    def records(self) -> bool:
        return self._screencast is not None

    async def start_recording(self) -> tuple[str, ...]:
        async with self._turn:
            if self._screencast:
                raise ToolFailed("a recording is running; recording_stop ends it")
            self._screencast = Screencast(self._tabs.tell)
            try:
                at = await self._ready(HERE, anew=True)
            except BaseException:
                self._screencast.discard()
                self._screencast = None
                raise
            return self._tabs.heard(at)

    async def stop_recording(self, progress: Callable[[str], None]) -> Video:
        async with self._turn:
            screencast = self._screencast
            if screencast is None:
                raise ToolFailed("no recording is running; recording_start starts one")
            at = await self._ready(HERE, anew=True)
            self._screencast = None
            try:
                await screencast.stop()
                assert self._tabs.running
                path = await asyncio.to_thread(free_path, self._outputs, "recording.webm")
                seconds, frames, size = await self._tabs.guarded(screencast.encode(self._tabs.running, path, progress))
            finally:
                screencast.discard()
            return Video(path, seconds, frames, size, self._tabs.heard(at))

    # ── a call

    async def _ready(self, tab: int, *, access: Access | None = None, anew: bool = False) -> Tab:
        at = await self._tabs.guarded(self._tabs.ready(tab, access=access, anew=anew))
        if self._screencast:
            await self._tabs.guarded(self._screencast.follow(at))
        found: Tab = at
        return found

    async def _act(self, tab: int, act: Act, answers: dict[str, Act] | None = None) -> Seen:
        """Do something to a tab and look at it; a dialog that is open takes what `answers` has for its kind."""
        async with self._turn:
            at = await self._ready(tab)
            answer = (answers or {}).get(at.dialog.type) if at.dialog else None
            if not answer:
                at.check()
            return await self._after(at, (answer or act)(at), ACT_SECONDS)

    async def _after(self, at: Tab, work: Coroutine[Any, Any, str], seconds: float) -> Seen:
        tabs, before, begun = self._tabs, at.shown, self._tabs.downloads.begun
        try:
            said = await tabs.guarded(at.during(work, seconds)) or ""
        except TimeoutError:
            raise ToolFailed(f"not done within {seconds:g} s; browser_view shows the current state") from None
        if loading := await at.settle(self._timeout):
            tabs.tell(loading)
        if tabs.downloads.begun > begun:
            await tabs.downloads.settle(DOWNLOAD_SECONDS)
            if tabs.downloads.under_way:
                tabs.tell(STILL_LOADING)
        if at.dialog or at.closed or at.crashed:
            return Seen(said, (*tabs.heard(at), *([at.open_dialog()] if at.dialog else [])))
        page = await tabs.guarded(look(at, tabs.pages.shown(at.page.url), tabs.others(at)))
        at.shown = page
        return Seen(said, tabs.heard(at), page, before)


async def _nothing() -> str:
    return ""


def _keep(folder: str, name: str, data: bytes) -> str:
    path = free_path(folder, name)
    with open(path, "wb", opener=private) as file:
        file.write(data)
    return path


def open_browser(opening: Opening) -> LocalBrowser:
    def served() -> list[int]:
        """The ports of loopback that something of this session's is up on."""
        deployments = opening.services.get("deploy")
        return deployments.ports() if deployments else []

    trusted = opening.loaded.trusted
    return LocalBrowser(opening.files, opening.places.outputs, opening.settings, own_code=trusted, served=served)


def board_rows(browser: LocalBrowser) -> list[BoardEntry]:
    """The recording that is under way."""
    if not browser.records:
        return []
    return [BoardEntry(BoardKind.FEATURE, "recording", "●", "browser recording", "recording_stop ends it", "accent")]
