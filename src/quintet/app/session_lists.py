"""A project's sessions as rows, for `quintet sessions list`, `/sessions` and the completion of a shell; and exports."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.adapters.files.state_files import Artifacts
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import lives, stored
from quintet.domain.base.errors import UsageError
from quintet.domain.base.text_table import table
from quintet.domain.dials import badge
from quintet.domain.permission.protected_paths import asks, is_write_protected
from quintet.engine.session import queries

HEADING = ("SESSION", "UPDATED", "SURFACE", "STATUS", "DIALS", "TURNS", "TITLE")
MOST_SHOWN = 20  # in a session


def session_rows(places: Places, surface: str = "") -> list[dict[str, Any]]:
    """Newest first; those that began at one surface, if it is named."""
    rows = stored(places)
    with clear_errors(places.database):
        found = rows.sessions() if rows else []
    answers = []
    for row in found:
        summary, live = queries.summary_of(row), lives(row)
        if surface and summary.axes.surface != surface:
            continue
        answers.append(
            {
                "session": row.id,
                "updated": row.updated,
                "created": row.created,
                "surface": summary.axes.surface,
                "begun_by": summary.begun_by or "",
                "status": queries.status_of(summary, live),
                "live": live,
                "turns": summary.turns,
                "cost": summary.cost,
                "axes": msgspec.to_builtins(summary.axes),
                "badge": badge.full(summary.axes),
                "parent": row.parent,
                "title": row.title,
            }
        )
    return answers


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(row["session"]),
        str(row["updated"])[:16].replace("T", " "),
        str(row["begun_by"] or row["surface"]),
        str(row["status"]) + (" (live)" if row["live"] else ""),
        str(row["badge"]),
        str(row["turns"]),
        str(row["title"]),
    )


def sessions_text(places: Places) -> str:
    """What `/sessions` says."""
    rows = session_rows(places)
    shown = table([cells(row) for row in rows[:MOST_SHOWN]], heading=HEADING)
    more = [f"{len(rows) - MOST_SHOWN} more; quintet sessions list"] if len(rows) > MOST_SHOWN else []
    return "\n".join([*shown, *more, "/sessions ID opens one instead of this; the start of an id is enough"])


def session_beginning(places: Places, beginning: str) -> str:
    """The session whose id begins so; empty if there is none, or more than one."""
    found = [str(row["session"]) for row in session_rows(places) if str(row["session"]).startswith(beginning)]
    return beginning if beginning in found else found[0] if len(found) == 1 else ""


def export(places: Places, artifacts: Artifacts, session: str, wanted: str, kind: str, text: str) -> str:
    """Write a conversation to a file that the user names, in the project unless it says otherwise."""
    path = os.path.normpath(os.path.join(places.root, os.path.expanduser(wanted))) if wanted else ""
    inside = os.path.relpath(real_path(path), real_path(places.root)) if wanted else ""
    if inside and not inside.startswith("..") and (is_write_protected(inside) or asks(inside)):
        raise UsageError(f"/export {wanted}: this path is protected; name another file")
    return artifacts.export(session, path, kind, text)
