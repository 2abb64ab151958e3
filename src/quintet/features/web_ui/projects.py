"""The projects of this user: where Quintet has state, by the name of its folder, and what waits in each."""

from __future__ import annotations

import contextlib
import os

from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.known_projects import known_projects, name_of, project_named
from quintet.app.lookups import lives, stored
from quintet.domain.base.errors import QuintetError
from quintet.domain.dials import badge
from quintet.domain.journal.session_summary import AT_WORK, SessionStatus
from quintet.engine.session.queries import status_of, summary_of

MOST_SESSIONS = 200


class ListedSession(Struct, frozen=True):
    id: str
    title: str
    status: SessionStatus
    live: bool
    badge: str
    updated: str
    turns: int
    cost: float
    waiting: tuple[str, ...]  # the texts of open questions


class ListedProject(Struct, frozen=True):
    slug: str
    root: str
    sessions: tuple[ListedSession, ...]

    @property
    def name(self) -> str:
        return os.path.basename(self.root) or self.root

    @property
    def running(self) -> int:
        """Sessions at work; those that need somebody are counted as waiting."""
        return sum(one.live and one.status in AT_WORK and not one.waiting for one in self.sessions)

    @property
    def waiting(self) -> list[ListedSession]:
        return [one for one in self.sessions if one.waiting]


class Projects:
    """Looks again each time it is asked; only where a folder of state belongs to is remembered."""

    def __init__(self, here: Places) -> None:
        self._here = here
        self._known = {name_of(here): here}

    @property
    def here(self) -> str:
        return name_of(self._here)

    def all(self) -> list[ListedProject]:
        """This one first, then those where something runs, then the rest, newest first."""
        others = [one for one in known_projects() if name_of(one) != self.here]
        found = []
        for places in (self._here, *others):
            self._known[name_of(places)] = places
            with contextlib.suppress(QuintetError):
                found.append(_listed(places))

        def order(one: ListedProject) -> tuple[bool, bool, bool]:
            return (not one.waiting, not one.running, one.slug != self.here)

        newest = sorted(found, key=lambda one: one.sessions[0].updated if one.sessions else "", reverse=True)
        return sorted(newest, key=order)

    def places(self, name: str) -> Places:
        """The places of a project that has state, or of the one that this was started in."""
        if name not in self._known:
            self._known[name] = project_named(name)
        return self._known[name]

    def listed(self, name: str) -> ListedProject:
        return _listed(self.places(name))


def _listed(places: Places) -> ListedProject:
    return ListedProject(name_of(places), places.root, tuple(sessions(places)))


def sessions(places: Places) -> list[ListedSession]:
    rows = stored(places)
    if rows is None:
        return []
    try:
        with clear_errors(places.database):
            found = rows.sessions(MOST_SESSIONS)
    finally:
        rows.close()
    shown = []
    for row in found:
        summary, live = summary_of(row), lives(row)
        shown.append(
            ListedSession(
                row.id,
                row.title,
                status_of(summary, live),
                live,
                badge.full(summary.axes),
                row.updated,
                summary.turns,
                summary.cost,
                summary.waiting if live else (),
            )
        )
    return shown
