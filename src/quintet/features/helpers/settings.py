"""Settings of helpers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from quintet.domain.settings.meta import OWN, setting

MOST_AT_ONCE = 16


class HelperSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Helpers that a model starts with `run_helpers`."""

    depth: Annotated[
        int, Meta(ge=0, le=4), setting("how deep helpers may start helpers of their own; 0: there are none", OWN)
    ] = 2
    at_once: Annotated[
        int, Meta(ge=1, le=MOST_AT_ONCE), setting("how many helpers of one session run at the same time", OWN)
    ] = 4
    max_turns: Annotated[
        int, Meta(ge=1), setting("model requests that one helper may make; limits.max_turns holds too", OWN)
    ] = 30
    max_cost: Annotated[
        float, Meta(ge=0), setting("what one helper may cost; 0: what is left of limits.max_cost", OWN)
    ] = 0.0
    network: Annotated[bool, setting("whether helpers may use the network and the web", OWN)] = True
