"""Which search engine is in use."""

from __future__ import annotations

from collections.abc import Mapping

from quintet.domain.settings.outside_settings import WebSettings


def chosen(settings: WebSettings, environment: Mapping[str, str]) -> str:
    """The engine that the settings ask for; `auto` takes the first that is set up."""
    if settings.search != "auto":
        return settings.search
    if environment.get(settings.brave_key_env):
        return "brave"
    if environment.get(settings.exa_key_env):
        return "exa"
    return "searxng" if settings.searxng_url else "ddgs"
