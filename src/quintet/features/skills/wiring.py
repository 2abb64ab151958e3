"""Puts skills together: for a session, and for commands that only look."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from quintet.adapters.files.paths import Places
from quintet.adapters.settings.layers import LoadedSettings
from quintet.adapters.settings.trust import trust_of
from quintet.domain.dials.axes import Axes, Surface
from quintet.domain.input.slash_line import CommandUsage
from quintet.features.skills.book import SkillBook
from quintet.features.skills.conversation_head import head_text
from quintet.features.skills.service import Skills, usages_of
from quintet.features.skills.settings import SkillSettings
from quintet.features.skills.shelf import SkillShelf

if TYPE_CHECKING:
    from quintet.app.services import Opening

BOOK = "skills.db"


def settings_of(loaded: LoadedSettings) -> SkillSettings:
    return loaded.settings.table("skills", SkillSettings)


def make_shelf(places: Places, loaded: LoadedSettings) -> SkillShelf:
    root = places.worktree_of or places.root
    return SkillShelf(places, settings_of(loaded), lambda: trust_of(places.trust_file, root))


def make_book(places: Places) -> SkillBook:
    return SkillBook(os.path.join(places.state, BOOK))


def open_skills(opening: Opening) -> Skills:
    def axes() -> Axes:
        return opening.attach(Surface.RPC).state.axes

    places = opening.places

    def servers() -> Any:
        return opening.services.get("mcp")

    return Skills(make_shelf(places, opening.loaded), axes, make_book(places), places.root, servers)


def names(opening: Opening) -> Skills:
    """The commands that are skills' names."""
    skills: Skills = opening.services["skills"]
    return skills


def usages(places: Places, loaded: LoadedSettings) -> tuple[CommandUsage, ...]:
    """The same commands, where no session is open."""
    return usages_of(make_shelf(places, loaded))


def head(places: Places, loaded: LoadedSettings) -> str:
    """What stands in the head of a conversation."""
    own = settings_of(loaded)
    with contextlib.closing(make_book(places)) as book:
        return head_text(make_shelf(places, loaded).usable().values(), own.head_bytes, book.uses())
