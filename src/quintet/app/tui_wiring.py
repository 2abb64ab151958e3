"""What the terminal UI needs of this place, put together for it."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractAsyncContextManager
from typing import Any

from quintet.adapters import sandbox
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.git.repository import branch
from quintet.adapters.models.discovery import found_here
from quintet.adapters.processes.system import process_start
from quintet.adapters.settings import layers as config
from quintet.app.open import log_crash, open_session
from quintet.app.prompt_wiring import at_hand
from quintet.app.trust_question import trust_question
from quintet.domain.dials.axes import Surface
from quintet.domain.tasks.board import OtherSession, UnderWay
from quintet.domain.tasks.task import TaskStatus
from quintet.engine.session.leases import owner_lives
from quintet.engine.session.session import Session
from quintet.surfaces.tui.chrome.themes import chosen
from quintet.surfaces.tui.context import TuiContext


def surroundings(path: str, options: dict[str, Any]) -> TuiContext:
    """`options` are those of `open_session`, as the command line gave them."""
    places = locate(path)
    settings = config.load(places, options.get("settings")).settings

    def opened(session: str) -> AbstractAsyncContextManager[Session]:
        wanted = {**options, "resume": session, "fork": False, "axes": None} if session else options
        return open_session(path, surface=Surface.TUI, person=True, **wanted)

    return TuiContext(
        name=places.name,
        sandbox=str(sandbox.chosen(settings.sandbox.use)),
        settings=settings,
        open=opened,
        theme=chosen(settings.display.theme, dict(os.environ), settings.display.color),
        branch=lambda: branch(places.root),
        found=found_here,
        first_time=lambda: _first_time(places),
        tour=(sys.executable, "-P", "-m", "quintet", "tour"),  # not from the folder we stand in
        under_way=lambda: under_way(places),
        at_hand=at_hand(path, options.get("settings")),
        trust=trust_question(places),
        log_crash=lambda error: log_crash(places, error),
    )


def _first_time(places: Places) -> bool:
    """Whether this user has never opened the screen; from now on they have."""
    marker = os.path.join(os.path.dirname(places.state), "welcomed")
    if os.path.exists(marker):
        return False
    try:
        os.makedirs(os.path.dirname(marker), mode=0o700, exist_ok=True)
        with open(marker, "x"):
            return True
    except OSError:
        return False


def under_way(places: Places) -> UnderWay:
    """The project's tasks and its sessions that are not at rest, as they are stored now."""
    from quintet.adapters.sqlite.database import clear_errors
    from quintet.cli.sessions import stored
    from quintet.cli.tasks import live_claims, look
    from quintet.engine.session.queries import summary_of

    found, task_rows = look(places)
    rows = stored(places)
    with clear_errors(places.database):
        sessions = rows.sessions(50) if rows else []
        stopped = [task.id for task in found.tasks if task.status in (TaskStatus.BLOCKED, TaskStatus.FAILED)]
        reasons = {task: task_rows.moves(task)[-1].reason for task in stopped} if task_rows else {}
    others = []
    for row in sessions:
        summary, live = summary_of(row), owner_lives(row, time.time(), process_start)
        status = summary.status
        if not live and status in ("running", "waiting", "paused"):
            status = "interrupted"  # its process is gone
        if live or status != "idle":
            others.append(OtherSession(row.id, row.title, status, row.updated, live))
    claims = {task: claim.owner_pid for task, claim in live_claims(task_rows).items()}
    return UnderWay(tuple(found.tasks), claims, reasons, tuple(others))
