"""Rows of the board: what of this project's schedule runs, when it runs next, how it went last."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.features.schedule.book import ScheduleBook, ScheduleView
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import open_schedules
from quintet.features.schedule.times import at_zone
from quintet.features.schedule.values import ScheduleState
from quintet.features.schedule.words import outcome

if TYPE_CHECKING:
    from quintet.app.services import Opening

SHOWN = 5
SERVER_SECONDS = 5.0


_last: dict[str, tuple[float, list[ScheduleView]]] = {}  # of shared databases, by project


def rows(opening: Opening) -> list[BoardEntry]:
    return _shown(_views(opening))


def _views(opening: Opening) -> list[ScheduleView]:
    """As they are now; a server is asked every few seconds."""
    root, now = opening.places.root, time.monotonic()
    known = _last.get(root)
    if known and now - known[0] < SERVER_SECONDS:
        return known[1]
    with contextlib.closing(open_schedules(opening.places)) as store:
        settings = opening.settings.table("schedule", ScheduleSettings)
        views = ScheduleBook(store, settings, store.owner).views(root)
        if store.shared:
            _last[root] = (now, views)
    return views


def _shown(views: list[ScheduleView]) -> list[BoardEntry]:
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
