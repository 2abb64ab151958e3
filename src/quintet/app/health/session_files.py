"""For the doctor: files of sessions that no longer exist, or that a crash cut short, and inputs nobody can read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

from quintet.adapters.files.state_files import drop_recording, drop_torn_line, is_torn, recording_path
from quintet.adapters.settings.checkup import Checkup
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import lives, stored
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.journal.store_rows import Unreadable
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

RECORDING_ORPHAN = FindingKind(
    "RECORDING_ORPHAN",
    Severity.WARNING,
    HealthScope.STATE,
    "A recording is of a session that was deleted.",
    "delete the recording",
    fixable=True,
)
RECORDING_TORN = FindingKind(
    "RECORDING_TORN",
    Severity.WARNING,
    HealthScope.STATE,
    "A process was killed while it wrote the recording of a session, and its last line is incomplete.",
    "remove the incomplete line, so that the recording can be replayed",
    fixable=True,
)
INBOX_UNREADABLE = FindingKind(
    "INBOX_UNREADABLE",
    Severity.WARNING,
    HealthScope.SESSION,
    "The inbox of a session has an input that this Quintet cannot read: it is damaged, or a newer Quintet wrote it.",
    "Upgrade Quintet, or send the input again; the row stays where it is.",
)
KINDS = (RECORDING_ORPHAN, RECORDING_TORN, INBOX_UNREADABLE)


def recordings_have_sessions(checkup: Checkup) -> Iterator[Finding]:
    for name in _orphans(checkup):
        yield RECORDING_ORPHAN.of(name, f"a recording of session {name}, which no longer exists")


def drop_orphans(checkup: Checkup) -> list[str]:
    done = []
    for name in _orphans(checkup):
        drop_recording(recording_path(checkup.places.runs, name))
        done.append(f"deleted the recording of session {name}")
    return done


def recordings_are_whole(checkup: Checkup) -> Iterator[Finding]:
    for name in _torn(checkup):
        yield RECORDING_TORN.of(name, f"the recording of session {name} ends in the middle of a line")


def cut_torn_lines(checkup: Checkup) -> list[str]:
    done = []
    for name in _torn(checkup):
        drop_torn_line(recording_path(checkup.places.runs, name))
        done.append(f"removed the incomplete line of the recording of session {name}")
    return done


def inbox_can_be_read(checkup: Checkup) -> Iterator[Finding]:
    rows = stored(checkup.places) if checkup.thorough else None
    if rows is None:
        return
    with clear_errors(checkup.places.database), closing(rows):
        for row in rows.sessions():
            for one in rows.inbox(row.id):
                if isinstance(one, Unreadable):
                    problem = f"an input of session {row.id} cannot be read: {on_one_line(one.why)}"
                    yield INBOX_UNREADABLE.of(row.id, problem)


def _orphans(checkup: Checkup) -> list[str]:
    """Recordings whose session is not stored; a helper's goes with that of its parent. Without a store none is:
    where it was lost, they are all that is left."""
    rows = stored(checkup.places)
    if rows is None:
        return []
    with clear_errors(checkup.places.database), closing(rows):
        return [name for name in _recorded(checkup) if rows.session(name.partition(".")[0]) is None]


def _torn(checkup: Checkup) -> list[str]:
    """Recordings that end within a line, and that no process writes now. Only a thorough look opens each file."""
    if not checkup.thorough:
        return []
    rows = stored(checkup.places)
    if rows is None:
        return []
    runs = checkup.places.runs
    with clear_errors(checkup.places.database), closing(rows):
        owners = {name: rows.session(name.partition(".")[0]) for name in _recorded(checkup)}
    return [name for name, row in owners.items() if row and not lives(row) and is_torn(recording_path(runs, name))]


def _recorded(checkup: Checkup) -> list[str]:
    runs = checkup.places.runs
    names = sorted(os.listdir(runs)) if os.path.isdir(runs) else []
    return [name for name in names if os.path.isfile(recording_path(runs, name))]
