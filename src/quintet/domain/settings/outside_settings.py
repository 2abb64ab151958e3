"""The settings of what leaves the machine, and of what must not: the web, secrets."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from quintet.domain.settings.meta import TIGHTEN, TRUSTED, setting


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Searching the web and reading pages."""

    search: Annotated[
        Literal["auto", "ddgs", "brave", "exa", "searxng"],
        setting(
            "what searches: auto takes the first with a key or an address, else ddgs, which needs neither", TRUSTED
        ),
    ] = "auto"
    brave_key_env: Annotated[str, setting("environment variable that holds Brave's key", TRUSTED)] = "BRAVE_API_KEY"
    brave_url: Annotated[str, setting("address of Brave's API", TRUSTED)] = "https://api.search.brave.com"
    exa_key_env: Annotated[str, setting("environment variable that holds Exa's key", TRUSTED)] = "EXA_API_KEY"
    exa_url: Annotated[str, setting("address of Exa's API", TRUSTED)] = "https://api.exa.ai"
    searxng_url: Annotated[str, setting("address of a SearXNG that answers in JSON", TRUSTED)] = ""
    allow_hosts: Annotated[
        tuple[str, ...],
        setting("hosts of your own network that pages may come from: names, name:port, addresses, networks", TRUSTED),
    ] = ()
    max_bytes: Annotated[int, setting("most that is read of one page, unpacked", TIGHTEN)] = 5_000_000
    seconds: Annotated[float, setting("seconds that one page or search may take", TIGHTEN)] = 30.0
    redirects: Annotated[int, setting("redirects that are followed for one page", TIGHTEN)] = 5


class SecretSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept from models, journal and logs, and which commands get it."""

    patterns: Annotated[
        tuple[str, ...], setting("names of variables that hold secrets, in your environment and in env files", TRUSTED)
    ] = (
        *("*_KEY", "*_TOKEN", "*_SECRET", "*_PASSWORD", "*_PASSWD", "*_PASSPHRASE", "*_CREDENTIALS", "*_PAT", "*_DSN"),
        *("API_KEY", "TOKEN", "SECRET", "PASSWORD"),
    )
    ignore: Annotated[tuple[str, ...], setting("names, as patterns, that fit and hold none", TRUSTED)] = ()
    files: Annotated[
        tuple[str, ...], setting("env files of the project that are looked into, as patterns", TRUSTED)
    ] = (
        ".env",
        ".env.*",
        "*.env",
        ".envrc",
    )
    expose: Annotated[
        tuple[str, ...], setting('commands that get a secret in their environment: "NAME: command *"', TRUSTED)
    ] = ()
