"""The browser as tools use it: pages as views, elements by the ids that views give them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from quintet.features.browser.page_view import PageView

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
