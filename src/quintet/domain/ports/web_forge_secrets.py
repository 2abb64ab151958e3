"""Ports of the tools that reach outside. Whatever fails there is a ToolFailed that says the fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct


class WebResult(Struct, frozen=True):
    """One result of a search of the web."""

    url: str
    title: str = ""
    text: str = ""
    published: str = ""  # ISO 8601, as far as it is known


class Sought(Struct, frozen=True):
    """What is searched for."""

    query: str
    count: int = 10
    include: tuple[str, ...] = ()  # only from these domains
    exclude: tuple[str, ...] = ()  # not from these
    since: str = ""  # not published before this day, YYYY-MM-DD


class Page(Struct, frozen=True):
    """The readable text of a page."""

    url: str  # where it was found, redirects followed
    title: str
    text: str
    note: str = ""  # what is to be said of it: cut off, taken as it is


class Web(Protocol):
    async def search(self, sought: Sought) -> tuple[list[WebResult], str]:
        """What was found, best first, and by what."""

    async def pages(self, urls: Sequence[str], tell: Callable[[str], None]) -> list[Page | str]:
        """For each address its page, or why there is none; `tell` hears how it goes."""


class Forge(Protocol):
    """A forge's REST API. Paths are below its address; `tell` hears while something is waited for.

    Reads that fail on the server's side are tried again, writes never are; both wait for a rate limit to end.
    """

    @property
    def host(self) -> str:
        """Where its pages are, and its repositories."""

    async def read(self, path: str, tell: Callable[[str], None], **query: str) -> Any:
        """One JSON value."""

    async def pages(self, path: str, tell: Callable[[str], None], *, key: str = "", most: int = 1000) -> list[Any]:
        """The items of a list that comes in pages, in each of them under `key` if one is given."""

    async def text(self, path: str, tell: Callable[[str], None], accept: str = "") -> str:
        """A file, a diff or a log."""

    async def write(self, method: str, path: str, body: dict[str, Any], tell: Callable[[str], None]) -> Any:
        """Make or change something, and what the forge says of it."""

    async def next_look(self, waited: float, tell: Callable[[str], None], why: str) -> float:
        """Wait before checks are looked at again; the seconds waited in all, or less than 0: that was long enough."""


class SecretName(Struct, frozen=True):
    """A secret there is, but for its value."""

    name: str
    source: str  # environment, the file it is in, or keyring
    exposed: tuple[str, ...] = ()  # the commands that get it
    redacted: bool = True  # too short a value is not


class Secrets(Protocol):
    def names(self) -> list[SecretName]: ...

    def text(self, text: str) -> str:
        """The text without them."""
