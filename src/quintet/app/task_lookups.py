"""The work of a project as it is stored now, without a session: tasks and who works at them, sessions, questions."""

from __future__ import annotations

import os

from quintet.adapters.files.paths import Places
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.stores.chosen import stored_tasks
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.app.lookups import lives, stored
from quintet.domain.journal.session_summary import SessionStatus
from quintet.domain.ports.stores import StoredTasks
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.board import BackgroundShell, OpenQuestion, OtherSession, UnderWay
from quintet.domain.tasks.drift import Scan, scan
from quintet.engine.cycle.task_tables import reasons_of
from quintet.engine.session.queries import status_of, summary_of

SESSIONS = 50  # that are looked at, the newest ones


def tasks_here(places: Places) -> tuple[Scan, StoredTasks | None]:
    """Every task of the project as its file says it now; what is wrong with some is said aside."""
    rows = stored_tasks(places)
    folder = TaskFolder(places.tasks_root, places.runs)
    with clear_errors(places.database):
        return scan(rows.tasks() if rows else [], folder.found(), folder.read), rows


def live_claims(rows: StoredTasks | None) -> dict[str, Claim]:
    found = rows.claims() if rows else {}
    return {task: claim for task, claim in found.items() if lives(claim)}


def under_way(places: Places) -> UnderWay:
    """What is under way in the project: its tasks, the sessions that are not at rest, what waits, what was spent."""
    found, task_rows = tasks_here(places)
    rows = stored(places)
    if rows is None or task_rows is None:
        return UnderWay(tuple(found.tasks))
    with clear_errors(places.database):
        reasons = reasons_of(found.tasks, task_rows.moves)
        questions = tuple(OpenQuestion(*row) for row in rows.open_questions())
        cost, sessions = rows.project_cost(), rows.sessions(SESSIONS)
    others: list[OtherSession] = []
    shells: list[BackgroundShell] = []
    for row in sessions:
        summary, live = summary_of(row), lives(row)
        status = status_of(summary, live)
        if live or status is not SessionStatus.IDLE:
            here = live and row.owner_pid == os.getpid() and row.machine in ("", os.uname().nodename)
            others.append(OtherSession(row.id, row.title, status, row.updated, live, here))
        if live:
            shells += [BackgroundShell(shell.name, shell.line, row.id) for shell in summary.shells]
    claims = {task: claim.owner_pid for task, claim in live_claims(task_rows).items()}
    return UnderWay(tuple(found.tasks), claims, reasons, tuple(others), questions, tuple(shells), cost)
