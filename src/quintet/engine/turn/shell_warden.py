"""Ends background shells that turned dials no longer grant.

Told of every event as it is journalled, it judges the call that started each running shell again, at the new axes.
What it ends is on record with the reason, and whoever reads that shell next is told.
"""

from __future__ import annotations

import asyncio

from quintet.domain.base.safe_text import brief
from quintet.domain.journal.protocol import DialsTurned, Event, Noticed
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal


class ShellWarden:
    def __init__(self, core: Core, journal: Journal) -> None:
        self._core = core
        self._journal = journal
        self._ending: set[asyncio.Task[None]] = set()

    def heed(self, event: Event) -> None:
        if isinstance(event, DialsTurned):
            toolbox = self._core.turn.toolbox
            for shell, reason in toolbox.withdrawn(event.before, event.after, person=self._core.person):
                text = f"background shell {shell.name} is ended ({brief(shell.call.arguments)}): {reason}"
                self._journal.post(Noticed(level="warning", code="SHELL_ENDED", text=text))
                task = asyncio.ensure_future(toolbox.end_shell(shell.name, reason))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
