"""Settings of the browser."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TIGHTEN, TRUSTED, setting


class BrowserSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Chromium that the browser tools use; `web.allow_hosts` lists what it may open in your own network."""

    path: Annotated[str, setting("the browser's program; empty for the first Chromium or Chrome on PATH", TRUSTED)] = ""
    timeout: Annotated[float, setting("seconds to wait until a page starts to load", TIGHTEN)] = 30.0
    sandbox: Annotated[bool, setting("run pages in Chromium's own sandbox; not possible as root", TRUSTED)] = True
