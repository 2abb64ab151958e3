"""The projects that this user has sessions in, found by their state; each goes by the name of that folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from quintet.adapters.files.paths import Places, locate, state_folder
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.stores.chosen import file_rows, remembered_root
from quintet.domain.base.errors import NotFound, QuintetError
from quintet.domain.journal.protocol import SessionOpened

MOST_ASKED = 20  # sessions that are asked for their folder


def name_of(places: Places) -> str:
    return os.path.basename(places.state)


def known_projects() -> Iterator[Places]:
    """Those whose folder is still there."""
    try:
        names = sorted(os.listdir(state_folder()))
    except OSError:
        return
    for name in names:
        with contextlib.suppress(QuintetError):
            yield project_named(name)


def project_named(name: str) -> Places:
    """The places of a project that has state."""
    if not name or name in (".", "..") or os.path.basename(name) != name:
        raise NotFound("there is no such project")
    state = os.path.join(state_folder(), name)
    if not os.path.isfile(os.path.join(state, "state.db")) and not remembered_root(state):
        raise NotFound(f"there is no project {name}")
    places = locate(_root(name, state))
    if name_of(places) != name:
        raise NotFound(f"there is no project {name}")
    return places


def _root(name: str, state: str) -> str:
    if (root := remembered_root(state)) and os.path.isdir(root):
        return root
    rows = file_rows(Places("/", state, "/"))
    if rows is None:
        raise NotFound(f"there is no session in {name}")
    try:
        with clear_errors(os.path.join(state, "state.db")):
            found = rows.sessions(MOST_ASKED)
            opened = [one.event for row in found for one in rows.read(row.id, kinds=("session_opened",))]
    finally:
        rows.close()
    if not found:
        raise NotFound(f"there is no session in {name}")
    for event in opened:  # a worker's worktree may be gone, or be of another name
        if not isinstance(event, SessionOpened) or not os.path.isdir(event.project):
            continue
        if name_of(locate(event.project)) == name:
            return event.project
    raise NotFound(f"the folder of {name} does not exist any more")
