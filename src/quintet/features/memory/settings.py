"""Settings of memory."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from quintet.domain.settings.meta import setting


class MemorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is remembered of a project; `/memory off` turns it off in one project."""

    learn: Annotated[bool, setting("keep what runs show that were delivered with evidence, and what you decide")] = True
    recall: Annotated[bool, setting("begin a turn with the memories that fit its input")] = True
    keep_outcomes: Annotated[
        int, Meta(ge=0, le=100_000), setting("number of newest run outcomes that are kept; facts and decisions stay")
    ] = 500
