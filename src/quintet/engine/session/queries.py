"""Questions about a project that need no Session: plain functions over what is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from quintet.domain.base.errors import NotFound
from quintet.domain.dials.axes import Surface
from quintet.domain.journal.session_summary import AT_WORK, SessionStatus, SessionSummary
from quintet.domain.journal.store_rows import SessionRow

PERSONAL = (Surface.TUI, Surface.WEB)
_decode_summary = msgspec.json.Decoder(SessionSummary).decode


def summary_of(row: SessionRow) -> SessionSummary:
    return _decode_summary(row.summary)


def status_of(summary: SessionSummary, live: bool) -> SessionStatus:
    """A session's status; one that was at work and whose process is gone was interrupted."""
    return SessionStatus.INTERRUPTED if summary.status in AT_WORK and not live else summary.status


def foremost(rows: Sequence[SessionRow], owner_lives: Callable[[SessionRow], bool]) -> SessionRow | None:
    """The session that a look at the project is about, of some that come newest first.

    One that a process owns, and of those one at work; else one that waits for an answer; else as `latest` says.
    """

    def rank(row: SessionRow) -> int:
        summary = summary_of(row)
        if owner_lives(row):
            return 0 if summary.status in AT_WORK else 1
        return 2 if summary.waiting else 3 if summary.used else 4

    return min(rows, key=rank, default=None)


def had_by_person(summary: SessionSummary) -> bool:
    """Whether a session began at a terminal or in a browser; not by `-p`, a schedule, a worker or a program."""
    return summary.axes.surface in PERSONAL and not summary.begun_by


def latest(rows: Sequence[SessionRow]) -> SessionRow | None:
    """The newest of some sessions that come newest first; one that was only looked into hides none that was used."""
    return next((row for row in rows if summary_of(row).used), rows[0] if rows else None)


def unnamed(rows: Sequence[SessionRow], surface: Surface) -> SessionRow:
    """The session that is meant where none is named; rather one that a person began, at a terminal or in a browser
    one that was at such a place, than one of a worker or a schedule."""
    known = [(row, summary_of(row)) for row in rows]
    mine = [row for row, summary in known if not summary.begun_by]
    own = [row for row, summary in known if had_by_person(summary)] if surface in PERSONAL else mine
    if newest := latest(own or mine or rows):
        return newest
    raise NotFound(
        "there is no session in this project yet",
        hint="`quintet` starts one; `quintet -p /implement --mode build --permission-profile normal` does open tasks.",
    )
