"""What a session that was killed may have left in protected places, said at the next start.

A command may have made it, or the user since then: so nothing is moved without approval. What Quintet itself loads
needs trust in any case, and trust is for contents.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from quintet.adapters.files.paths import Places
from quintet.adapters.settings.gate_terms import protection_of
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import few

if TYPE_CHECKING:
    from quintet.adapters.protected.crash_record import AbandonedRecord
    from quintet.domain.permission.protected_paths import Protection
    from quintet.domain.settings.settings import Settings

MOST_NAMED = 8


def left_behind(places: Places, settings: Settings) -> list[tuple[AbandonedRecord, list[str]]]:
    """The records of killed sessions here, each with what is there since; those with nothing are forgotten."""
    try:
        if not os.listdir(places.crash_records):
            return []
    except OSError:  # no command ever ran
        return []
    from quintet.adapters.protected.crash_record import abandoned_records  # only after a session was killed

    found = []
    for left in abandoned_records(places.crash_records, places.root):
        if paths := left.found(protection_then(places, settings, left)):
            found.append((left, paths))
        else:
            left.forget()
    return found


def protection_then(places: Places, settings: Settings, left: AbandonedRecord) -> Protection:
    """What is protected in the project that a record is of."""
    return protection_of(msgspec.structs.replace(places, root=left.root), settings)


def left_note(places: Places, settings: Settings) -> str:
    """What to tell at the start of a session; empty if there is nothing."""
    found = left_behind(places, settings)
    named = list(dict.fromkeys(name for left, paths in found for name in names(places, left, paths)))
    if not named:
        return ""
    return (
        "A session was killed here while a command was running, and the files it left were not checked. New "
        f"in protected paths: {few(named, MOST_NAMED)}. A command may have made them, or you did "
        "later; your programs use them. Check before you continue: quintet aside lists them, quintet "
        "aside move moves them away, quintet aside keep keeps them."
    )


def names(places: Places, left: AbandonedRecord, paths: list[str]) -> list[str]:
    unsure = "" if left.legible else " (the earlier content is not known)"
    return [on_one_line(os.path.relpath(path, places.root)) + unsure for path in paths]
