"""The tasks of a project as they are stored now, and who works at them, without a session."""

from __future__ import annotations

import os
import time

from quintet.adapters.files.paths import Places
from quintet.adapters.processes.system import process_start
from quintet.adapters.sqlite.database import clear_errors, connect_to_read
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.drift import Scan, scan
from quintet.engine.session.leases import owner_lives


def tasks_here(places: Places) -> tuple[Scan, TaskRows | None]:
    """Every task of the project as its file says it now; what is wrong with some is said aside."""
    rows = None
    if os.path.exists(places.database):
        rows = TaskRows(connect_to_read(places.database), places.database)
    folder = TaskFolder(places.root, places.runs)
    with clear_errors(places.database):
        return scan(rows.tasks() if rows else [], folder.found(), folder.read), rows


def live_claims(rows: TaskRows | None) -> dict[str, Claim]:
    found = rows.claims() if rows else {}
    return {task: claim for task, claim in found.items() if owner_lives(claim, time.time(), process_start)}
