"""The projects of this user: where Quintet has state, by the name of its folder, and what waits in each."""

from __future__ import annotations

import contextlib
import os

from msgspec import Struct

from quintet.adapters.files.paths import Places, locate, state_folder
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import lives, stored
from quintet.domain.base.errors import NotFound, QuintetError
from quintet.domain.dials import badge
from quintet.domain.journal.protocol import SessionOpened
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
        return sum(one.live and one.status in AT_WORK for one in self.sessions)

    @property
    def waiting(self) -> list[ListedSession]:
        return [one for one in self.sessions if one.waiting]


class Projects:
    """Looks again each time it is asked; only where a folder of state belongs to is remembered."""

    def __init__(self, here: Places) -> None:
        self._here = here
        self._roots: dict[str, str] = {slug(here): here.root}

    @property
    def here(self) -> str:
        return slug(self._here)

    def all(self) -> list[ListedProject]:
        """This one first, then those where something runs, then the rest, newest first."""
        names = [self.here]
        with contextlib.suppress(OSError):
            names += sorted(name for name in os.listdir(state_folder()) if name != self.here)
        found = []
        for name in names:
            with contextlib.suppress(QuintetError):
                found.append(self.listed(name))

        def order(one: ListedProject) -> tuple[bool, bool, bool]:
            return (not one.waiting, not one.running, one.slug != self.here)

        newest = sorted(found, key=lambda one: one.sessions[0].updated if one.sessions else "", reverse=True)
        return sorted(newest, key=order)

    def places(self, name: str) -> Places:
        """The places of a project that has state, or of the one that this was started in."""
        root = self._roots.get(name) or self._root_of(name)
        places = locate(root)
        if slug(places) != name:
            raise NotFound(f"there is no project {name}")
        self._roots[name] = root
        return places

    def listed(self, name: str) -> ListedProject:
        places = self.places(name)
        return ListedProject(name, places.root, tuple(sessions(places)))

    def _root_of(self, name: str) -> str:
        if os.path.basename(name) != name or name in (".", "..") or not name:
            raise NotFound("there is no such project")
        state = os.path.join(state_folder(), name)
        if not os.path.isfile(os.path.join(state, "state.db")):
            raise NotFound(f"there is no project {name}")
        rows = stored(Places("/", state, "/"))
        newest = next(iter(rows.sessions(1)), None) if rows else None
        if rows is None or newest is None:
            raise NotFound(f"there is no session in {name}")
        try:
            opened = rows.read(newest.id, kinds=("session_opened",))
        finally:
            rows.connection.close()
        for recorded in opened:
            if isinstance(recorded.event, SessionOpened) and os.path.isdir(recorded.event.project):
                return recorded.event.project
        raise NotFound(f"the folder of {name} does not exist any more")


def slug(places: Places) -> str:
    return os.path.basename(places.state)


def sessions(places: Places) -> list[ListedSession]:
    rows = stored(places)
    if rows is None:
        return []
    try:
        with clear_errors(places.database):
            found = rows.sessions(MOST_SESSIONS)
    finally:
        rows.connection.close()
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
