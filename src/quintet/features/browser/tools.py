"""The browser tools: a page as lines of text, its elements by the ids that are written there.

Looking (navigate, view, scroll, the mouse, pictures, the console) is `fetch`; acting on a page, which may send
something somewhere, is `network`. What is looking, but tells the page something, counts as acting where composed
addresses ask. A page of the project is `read` and has no network; with one it is as a composed address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.known_addresses import normalised
from quintet.domain.permission.private_hosts import file_named, whole
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import Outward, ToolResult, Touch
from quintet.features.browser.page_view import changes
from quintet.features.browser.values import HERE, Direction, Seen, Target, Upload
from quintet.tools.declare import tool
from quintet.tools.images import kept_image

if TYPE_CHECKING:
    from quintet.features.browser.browser import LocalBrowser

NEEDS = ("chromium", "playwright")
LOOKING = frozenset({Effect.FETCH})
ACTING = frozenset({Effect.NETWORK})

Element = Annotated[int | str, Meta(description="the element's id, as browser_view shows it")]
Coordinates = Annotated[tuple[float, ...], Meta(description="or x and y on the screen, in pixels")]
TabNumber = Annotated[int, Meta(description="which tab, -1 for the one used last")]
Network = Annotated[bool, Meta(description="let a page of the project reach the network, which it cannot otherwise")]


def _looking(arguments: dict[str, Any]) -> Touch:
    return Touch(LOOKING)


def _telling(arguments: dict[str, Any]) -> Touch:
    return Touch(LOOKING, outward=Outward(tells=True))


def _acting(arguments: dict[str, Any]) -> Touch:
    return Touch(ACTING)


def _address(arguments: dict[str, Any]) -> Touch:
    """A file: address is a path that is read; the gate keeps it inside the project."""
    path = file_named(arguments["url"])
    if path and arguments["network"]:
        return Touch(LOOKING | {Effect.READ}, reads=(path,), outward=Outward((f"file:{path}",)))
    if path:
        return Touch(frozenset({Effect.READ}), reads=(path,))
    if arguments["url"].strip() == "about:blank":
        return Touch(LOOKING)
    return Touch(LOOKING, outward=Outward((whole(arguments["url"]),)))


def _files(arguments: dict[str, Any]) -> Touch:
    return Touch(ACTING | {Effect.READ}, reads=tuple(_paths(arguments["content"])))


def _in_console(arguments: dict[str, Any]) -> Touch:
    return Touch(ACTING if arguments["content"].strip() else LOOKING)


@tool(effects=LOOKING | {Effect.READ}, touch=_address, needs=NEEDS, confined=True)
async def browser_navigate(
    bench: Workbench, url: str, tab_idx: TabNumber = HERE, network: Network = False
) -> ToolResult:
    """Open an address in the browser and see the page: its text, and its elements with ids for the other tools.

    :url: http or https, or the path of a file of the project
    :tab_idx: which tab; the number after the last opens a new one, -1 is the one used last
    """
    return _shown(await _browser(bench).navigate(url, tab_idx, network), whole=True)


@tool(effects=LOOKING, touch=_looking, needs=NEEDS)
async def browser_view(bench: Workbench, reload_window: bool = False, tab_idx: TabNumber = HERE) -> ToolResult:
    """See the browser's page: what is on screen first, elements as [id role "name" states].

    :reload_window: reload the page first
    """
    return _shown(await _browser(bench).view(tab_idx, reload_window), whole=True)


@tool(effects=ACTING, touch=_acting, needs=NEEDS)
async def browser_click(
    bench: Workbench, element_id: Element = "", coordinates: Coordinates = (), tab_idx: TabNumber = HERE
) -> ToolResult:
    """Click an element of the page, or a point of the screen. Tells what has changed on the page."""
    return _shown(await _browser(bench).click(_target(element_id, coordinates), tab_idx))


@tool(effects=LOOKING, touch=_telling, needs=NEEDS)
async def browser_move_mouse(
    bench: Workbench, element_id: Element = "", coordinates: Coordinates = (), tab_idx: TabNumber = HERE
) -> ToolResult:
    """Move the mouse over an element or to a point, for what shows only then."""
    return _shown(await _browser(bench).point(_target(element_id, coordinates), tab_idx))


@tool(effects=ACTING, touch=_acting, needs=NEEDS)
async def browser_type(
    bench: Workbench,
    content: str,
    element_id: Element = "",
    coordinates: Coordinates = (),
    press_enter: bool = False,
    tab_idx: TabNumber = HERE,
) -> ToolResult:
    """Type text into an element in place of what it holds, or where the focus is. Answers a prompt dialog too.

    :content: the text
    :coordinates: or x and y on the screen, clicked before
    :press_enter: and press Enter
    """
    target = _target(element_id, coordinates)
    return _shown(await _browser(bench).type(content, target, press_enter, tab_idx))


@tool(effects=LOOKING, touch=_telling, needs=NEEDS)
async def browser_scroll(
    bench: Workbench, direction: Direction, element_id: Element = "", tab_idx: TabNumber = HERE
) -> ToolResult:
    """Scroll the page by most of a screen, or to its top or bottom, and see it.

    :direction: which way
    :element_id: a scrollable element, to scroll that
    """
    return _shown(await _browser(bench).scroll(direction, str(element_id), tab_idx))


@tool(effects=LOOKING, touch=_looking, needs=NEEDS)
async def browser_screenshot(bench: Workbench, tab_idx: TabNumber = HERE) -> ToolResult:
    """Take a picture of what is on screen: you see it, and it is saved in a file; the answer has its path."""
    picture = await _browser(bench).screenshot(tab_idx)
    lines = [f"{picture.path} ({picture.width}×{picture.height})", *_noted(picture.notes)]
    shown = kept_image(bench, bench.files.read(picture.path))
    return ToolResult("\n".join(lines), summary=f"{picture.width}×{picture.height}", images=(shown,) if shown else ())


@tool(effects=LOOKING | ACTING, touch=_in_console, needs=NEEDS)
async def browser_console(bench: Workbench, content: str = "", tab_idx: TabNumber = HERE) -> ToolResult:
    """Read what the page wrote to its console since the last look, errors included; or evaluate JavaScript in it.

    :content: an expression to evaluate; empty to read
    """
    browser = _browser(bench)
    if content.strip():
        seen = await browser.evaluate(content, tab_idx)
        return ToolResult("\n".join(filter(None, (seen.said, *_noted(seen.notes)))))
    lines, notes = await browser.console(tab_idx)
    said = lines or ["(nothing new in the console)"]
    return ToolResult("\n".join([*said, *_noted(notes)]), summary=counted(len(lines), "message"))


@tool(effects=ACTING, touch=_acting, needs=NEEDS)
async def browser_press_key(bench: Workbench, content: str, tab_idx: TabNumber = HERE) -> ToolResult:
    """Press keys: Enter, Tab, ArrowDown, Control+A. Enter accepts an open dialog, Escape dismisses it.

    :content: the key, or several with spaces between
    """
    return _shown(await _browser(bench).press(content, tab_idx))


@tool(effects=ACTING, touch=_acting, needs=NEEDS)
async def browser_select_option(
    bench: Workbench, index: int, element_id: Element = "", tab_idx: TabNumber = HERE
) -> ToolResult:
    """Choose from a list of options.

    :index: the option's number, from 0, as browser_view shows it
    :element_id: the list's id; the only or the focused one if empty
    """
    return _shown(await _browser(bench).select_option(index, str(element_id), tab_idx))


@tool(effects=ACTING | {Effect.READ}, touch=_files, needs=NEEDS, confined=True)
async def browser_select_file(bench: Workbench, content: str, tab_idx: TabNumber = HERE) -> ToolResult:
    """Give files of the project to the page, for the file picker that was clicked or the only one there is.

    :content: the file's path; several on lines of their own
    """
    paths = _paths(content)
    if not paths:
        raise ToolFailed("content: which file? Give its path in the project")
    files = [Upload(path.rpartition("/")[2], bench.files.read(bench.files.relative(path))) for path in paths]
    return _shown(await _browser(bench).select_files(files, tab_idx))


@tool(effects=LOOKING, touch=_telling, needs=NEEDS)
async def browser_set_mobile(bench: Workbench, enabled: bool, tab_idx: TabNumber = HERE) -> ToolResult:
    """See the page as on a phone, with its screen and touch, or as on a desktop again. The page is reloaded.

    :enabled: a phone or not
    """
    return _shown(await _browser(bench).set_mobile(enabled, tab_idx))


@tool(effects=LOOKING | {Effect.READ}, touch=_address, needs=NEEDS, confined=True)
async def browser_restart(bench: Workbench, url: str, network: Network = False) -> ToolResult:
    """End the browser with all its tabs, cookies and logins, and open an address in a new one.

    :url: where to begin
    """
    return _shown(await _browser(bench).restart(url, network), whole=True)


@tool(effects=LOOKING, touch=_looking, needs=NEEDS)
async def recording_start(bench: Workbench) -> ToolResult:
    """Record a video of the browser from now on; one at a time, and of the tab in use."""
    notes = await _browser(bench).start_recording()
    return ToolResult("\n".join(["recording; recording_stop ends it and shows the file", *_noted(notes)]))


@tool(effects=LOOKING, touch=_looking, needs=NEEDS)
async def recording_stop(bench: Workbench) -> ToolResult:
    """End the recording; tells the path of the video (WebM)."""
    video = await _browser(bench).stop_recording(bench.progress)
    about = f"{video.seconds:.1f} s, {counted(video.frames, 'frame')}, {video.size:,} bytes"
    return ToolResult("\n".join([f"{video.path} ({about})", *_noted(video.notes)]), summary=f"{video.seconds:.0f} s")


def _browser(bench: Workbench) -> LocalBrowser:
    browser: LocalBrowser = bench.service("browser")
    return browser


def _target(element_id: int | str, coordinates: tuple[float, ...]) -> Target:
    if not coordinates:
        return Target(str(element_id))
    if len(coordinates) != 2 or str(element_id):
        raise ToolFailed("coordinates are x and y, for example [200, 340], without an element_id")
    return Target("", (coordinates[0], coordinates[1]))


def _paths(content: str) -> list[str]:
    return [line.strip() for line in content.splitlines() if line.strip()]


def _noted(notes: tuple[str, ...]) -> list[str]:
    return [f"({note})" for note in notes]


def _shown(seen: Seen, *, whole: bool = False) -> ToolResult:
    page = changes(None if whole else seen.before, seen.page) if seen.page else ""
    said = [seen.said] if seen.said else []
    summary = seen.page.title[:60] if seen.page and whole else seen.said[:60]
    content = "\n".join([*said, *_noted(seen.notes), *([page] if page else [])])
    address = seen.page.url if seen.page else ""
    return ToolResult(content, summary=summary, page=address if normalised(address) else "")
