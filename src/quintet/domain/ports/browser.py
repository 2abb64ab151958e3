"""The browser as tools use it: pages as views, elements by the ids that views give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from quintet.domain.ports.page_view import PageView

Direction = Literal["up", "down", "left", "right", "top", "bottom"]
HERE = -1  # the tab that was used last


class Target(Struct, frozen=True):
    """What is pointed at: an element by its id, or a point of the screen in pixels; neither is what has the focus."""

    element: str = ""
    point: tuple[float, float] | None = None


class Seen(Struct, frozen=True):
    """What an action came to: in words, what else happened meanwhile, and how the page looks, now and before."""

    said: str = ""
    notes: tuple[str, ...] = ()
    page: PageView | None = None  # none where it cannot be looked at, as while a dialog is open
    before: PageView | None = None  # as it was last shown


class Upload(Struct, frozen=True):
    """A file for a page."""

    name: str
    content: bytes


class Picture(Struct, frozen=True):
    path: str
    width: int
    height: int
    notes: tuple[str, ...] = ()


class Video(Struct, frozen=True):
    path: str
    seconds: float
    frames: int
    size: int  # in bytes
    notes: tuple[str, ...] = ()


class Browser(Protocol):
    """One browser for a session, started at its first use. What fails is a ToolFailed that says what to do.

    `tab` is a tab's number, or HERE.
    """

    async def navigate(self, url: str, tab: int, network: bool = False) -> Seen:
        """Go to an address; with the number of the next tab, in a new one.

        `network` gives one to a page of the project, which has none otherwise.
        """

    async def view(self, tab: int, reload: bool) -> Seen: ...

    async def click(self, target: Target, tab: int) -> Seen: ...

    async def point(self, target: Target, tab: int) -> Seen:
        """Move the mouse there."""

    async def type(self, text: str, target: Target, enter: bool, tab: int) -> Seen:
        """Put text in the place of what an element holds; without a target, type it where the focus is."""

    async def scroll(self, direction: Direction, element: str, tab: int) -> Seen: ...

    async def press(self, keys: str, tab: int) -> Seen: ...

    async def select_option(self, index: int, element: str, tab: int) -> Seen: ...

    async def select_files(self, files: Sequence[Upload], tab: int) -> Seen:
        """Give files to the picker that was clicked, or to the only one there is."""

    async def set_mobile(self, enabled: bool, tab: int) -> Seen: ...

    async def restart(self, url: str, network: bool = False) -> Seen: ...

    async def screenshot(self, tab: int) -> Picture: ...

    async def console(self, tab: int) -> tuple[list[str], tuple[str, ...]]:
        """What the page wrote to its console since the last look, and what else happened."""

    async def evaluate(self, expression: str, tab: int) -> Seen: ...

    async def start_recording(self) -> tuple[str, ...]: ...

    async def stop_recording(self, progress: Callable[[str], None]) -> Video: ...
