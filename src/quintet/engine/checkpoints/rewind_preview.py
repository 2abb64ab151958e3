"""What /rewind would list and show, for whoever looks before they say it. Nothing here is put on record."""

from __future__ import annotations

from msgspec import Struct

from quintet.domain.base.errors import ToolFailed, UsageError
from quintet.domain.journal.state import SessionState
from quintet.engine.checkpoints.rewind import look_ahead
from quintet.engine.checkpoints.rewind_points import point_at, points_of
from quintet.engine.commands.rewind import about, preview_lines
from quintet.engine.session.core import Core


class PointShown(Struct, frozen=True):
    number: int
    at: str
    about: str  # files and lines that changed since
    title: str


async def points(core: Core, session: str) -> list[PointShown]:
    found = points_of(core.store, session)
    there = await core.checkpoints.kept() if found else set()
    return [PointShown(p.number, p.at[:16].replace("T", " "), about(p, there), p.title) for p in found]


async def preview(core: Core, state: SessionState, number: str) -> list[str]:
    """What going back to before a turn would do, line by line."""
    found = points_of(core.store, state.session)
    to = point_at(found, number)
    try:
        seen = await look_ahead(core.checkpoints, found, to, core.turn.toolbox.terms.protection)
    except ToolFailed as error:
        raise UsageError(f"what it would do to files cannot be seen: {error}") from error
    return preview_lines(core, state, to, seen)
