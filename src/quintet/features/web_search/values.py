"""What is searched for on the web, by which engine, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from quintet.domain.settings.settings import WebSettings


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


def chosen(settings: WebSettings, environment: Mapping[str, str]) -> str:
    """The engine that the settings ask for; `auto` takes the first that is set up."""
    if settings.search != "auto":
        return settings.search
    if environment.get(settings.brave_key_env):
        return "brave"
    if environment.get(settings.exa_key_env):
        return "exa"
    return "searxng" if settings.searxng_url else "ddgs"
