"""Settings of the forge."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TIGHTEN, TRUSTED, setting


class ForgeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The forge that pull requests are on: GitHub, or a GitHub Enterprise of your own."""

    url: Annotated[str, setting("address of its REST API; GitHub Enterprise: https://HOST/api/v3", TRUSTED)] = (
        "https://api.github.com"
    )
    token_env: Annotated[
        str, setting("environment variable that holds the token; empty: GH_TOKEN, GITHUB_TOKEN, then gh's own", TRUSTED)
    ] = ""
    seconds: Annotated[float, setting("seconds that one request may take", TIGHTEN)] = 30.0
    wait_seconds: Annotated[float, setting("seconds that a call may wait for a rate limit to end", TIGHTEN)] = 600.0
    checks_seconds: Annotated[float, setting("seconds that a call may wait for checks to be complete", TIGHTEN)] = (
        1800.0
    )
    poll_seconds: Annotated[float, setting("seconds between two checks of the status", TRUSTED)] = 15.0
