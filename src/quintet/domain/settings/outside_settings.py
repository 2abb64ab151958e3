"""The settings of the tools that reach outside: the web, the browser, the forge, secrets."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from quintet.domain.settings.meta import TIGHTEN, TRUSTED, about


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Searching the web and reading pages."""

    search: Annotated[
        Literal["auto", "ddgs", "brave", "exa", "searxng"],
        about("what searches: auto takes the first with a key or an address, else ddgs, which needs neither", TRUSTED),
    ] = "auto"
    brave_key_env: Annotated[str, about("environment variable that holds Brave's key", TRUSTED)] = "BRAVE_API_KEY"
    brave_url: Annotated[str, about("address of Brave's API", TRUSTED)] = "https://api.search.brave.com"
    exa_key_env: Annotated[str, about("environment variable that holds Exa's key", TRUSTED)] = "EXA_API_KEY"
    exa_url: Annotated[str, about("address of Exa's API", TRUSTED)] = "https://api.exa.ai"
    searxng_url: Annotated[str, about("address of a SearXNG that answers in JSON", TRUSTED)] = ""
    allow_hosts: Annotated[
        tuple[str, ...],
        about("hosts of your own network that pages may come from: names, name:port, addresses, networks", TRUSTED),
    ] = ()
    max_bytes: Annotated[int, about("most that is read of one page, unpacked", TIGHTEN)] = 5_000_000
    seconds: Annotated[float, about("seconds that one page or search may take", TIGHTEN)] = 30.0
    redirects: Annotated[int, about("redirects that are followed for one page", TIGHTEN)] = 5


class BrowserSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Chromium that the browser tools drive; what it may open of your own network is `web.allow_hosts`."""

    path: Annotated[str, about("the browser's program; empty for the first Chromium or Chrome on PATH", TRUSTED)] = ""
    timeout: Annotated[float, about("seconds to wait for a page to begin to load", TIGHTEN)] = 30.0
    sandbox: Annotated[bool, about("keep pages in Chromium's own sandbox; root never has it", TRUSTED)] = True


class ForgeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The forge that pull requests are on: GitHub, or a GitHub Enterprise of your own."""

    url: Annotated[str, about("address of its REST API; GitHub Enterprise: https://HOST/api/v3", TRUSTED)] = (
        "https://api.github.com"
    )
    token_env: Annotated[
        str, about("environment variable that holds the token; empty: GH_TOKEN, GITHUB_TOKEN, then gh's own", TRUSTED)
    ] = ""
    seconds: Annotated[float, about("seconds that one request may take", TIGHTEN)] = 30.0
    wait_seconds: Annotated[float, about("seconds that a call may wait for a rate limit to end", TIGHTEN)] = 600.0
    checks_seconds: Annotated[float, about("seconds that a call may wait for checks to be complete", TIGHTEN)] = 1800.0
    poll_seconds: Annotated[float, about("seconds between two looks at checks that are waited for", TRUSTED)] = 15.0


class SecretSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept from models, journal and logs, and which commands get it."""

    patterns: Annotated[
        tuple[str, ...], about("names of variables that hold secrets, in your environment and in env files", TRUSTED)
    ] = (
        *("*_KEY", "*_TOKEN", "*_SECRET", "*_PASSWORD", "*_PASSWD", "*_PASSPHRASE", "*_CREDENTIALS", "*_PAT", "*_DSN"),
        *("API_KEY", "TOKEN", "SECRET", "PASSWORD"),
    )
    ignore: Annotated[tuple[str, ...], about("names, as patterns, that fit and hold none", TRUSTED)] = ()
    files: Annotated[tuple[str, ...], about("env files of the project that are looked into, as patterns", TRUSTED)] = (
        ".env",
        ".env.*",
        "*.env",
        ".envrc",
    )
    expose: Annotated[
        tuple[str, ...], about('commands that get a secret in their environment: "NAME: command *"', TRUSTED)
    ] = ()
