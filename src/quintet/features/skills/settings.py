"""Settings of skills. What a model is told, and whether drafts are made, is the user's own to say."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import OWN, setting


class Drafting(StrEnum):
    OFF = "off"
    PROPOSE = "propose"
    AUTO = "auto"


class SkillSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Skills: instructions by name; `quintet skills list` shows them."""

    head_bytes: Annotated[
        int, setting("bytes of a conversation's head for skills; the rest is found by search", OWN)
    ] = 6_000
    folders: Annotated[tuple[str, ...], setting("more folders with skills, which count as your own", OWN)] = ()
    off: Annotated[tuple[str, ...], setting("skills that are not used, each by its name or its folder", OWN)] = ()
    built_in: Annotated[bool, setting("whether the skills that come with Quintet are used", OWN)] = True
    drafting: Annotated[
        Drafting,
        setting("skills drafted from repeated work: off, propose, or auto (written without asking, at trusted)", OWN),
    ] = Drafting.PROPOSE
    draft_threshold: Annotated[int, setting("how often something is seen before a skill is drafted from it", OWN)] = 4
    draft_cooldown_days: Annotated[
        float, setting("days after a rejected draft until it may be proposed again", OWN)
    ] = 30.0
    eval_trials: Annotated[int, setting("trials of each eval case, with the skill and without it", OWN)] = 3
