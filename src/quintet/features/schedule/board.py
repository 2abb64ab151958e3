"""The board's door to the schedule: who has scheduled nothing pays for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet.features.schedule.store import are_there
from quintet.package import load

if TYPE_CHECKING:
    from quintet.app.services import Opening
    from quintet.domain.tasks.board import BoardEntry


def rows(opening: Opening) -> list[BoardEntry]:
    if not are_there(opening.places):
        return []
    found: list[BoardEntry] = load("board_rows:rows", __package__)(opening)
    return found
