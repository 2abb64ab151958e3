"""Rows of the board: what of this project's schedule runs, when it runs next, how it went last."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.features.schedule.book import ScheduleBook, ScheduleView
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import SqliteSchedules, me
from quintet.features.schedule.times import at_zone
from quintet.features.schedule.values import ScheduleState
from quintet.features.schedule.words import outcome

if TYPE_CHECKING:
    from quintet.app.services import Opening

SHOWN = 5


def rows(opening: Opening) -> list[BoardEntry]:
    with contextlib.closing(SqliteSchedules()) as store:
        settings = opening.settings.table("schedule", ScheduleSettings)
        views = ScheduleBook(store, settings, me()).views(opening.places.root)
    shown = [view for view in views if view.running or view.schedule.state is ScheduleState.ACTIVE]
    shown.sort(key=lambda view: (view.running is None, view.next or 0))
    more = len(shown) - SHOWN
    hidden = [BoardEntry(BoardKind.FEATURE, "schedule", " ", f"… {more} more", "quintet schedule list", "dim")]
    return [*(_row(view) for view in shown[:SHOWN]), *(hidden if more > 0 else ())]


def _row(view: ScheduleView) -> BoardEntry:
    one = view.schedule
    last = f"; last {outcome(view.last)}" if view.last else ""
    failed = view.last is not None and view.last.result not in ("", "done")
    about = "running" if view.running else f"next {at_zone(view.next or 0, one.zone)} {one.zone}{last}"
    text = f"{one.name} {on_one_line(one.work.text)[:80]}"
    role = "success" if view.running else "warning" if failed else ""
    return BoardEntry(BoardKind.FEATURE, f"schedule-{one.name}", "▶" if view.running else "◷", text, about, role)
