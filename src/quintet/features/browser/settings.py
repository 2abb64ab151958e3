"""Settings of the browser."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TIGHTEN, TRUSTED, setting


class BrowserSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Chromium that the browser tools drive; what it may open of your own network is `web.allow_hosts`."""

    path: Annotated[str, setting("the browser's program; empty for the first Chromium or Chrome on PATH", TRUSTED)] = ""
    timeout: Annotated[float, setting("seconds to wait for a page to begin to load", TIGHTEN)] = 30.0
    sandbox: Annotated[bool, setting("keep pages in Chromium's own sandbox; root never has it", TRUSTED)] = True
