"""What a session holds of helpers: those that run, and what is stored of those that ran."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quintet.app.lookups import needed
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import Surface
from quintet.domain.journal.protocol import ModelConsulted, ToolFinished
from quintet.domain.ports.ports import Workbench
from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.domain.turn.messages import Usage
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.features.helpers.call import HelperCall
from quintet.features.helpers.claims import HelperClaims
from quintet.features.helpers.roles import Roles
from quintet.features.helpers.settings import HelperSettings
from quintet.features.helpers.stored import assignments
from quintet.features.helpers.values import (
    MOST_HELPERS,
    HelperAccount,
    HelperTask,
    outcome,
    report,
    seats,
)

if TYPE_CHECKING:
    from quintet.app.services import Opening


class Helpers:
    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._settings = opening.settings.table("helpers", HelperSettings)
        self._slots = asyncio.Semaphore(self._settings.at_once)
        self._next = 0  # the number of the next one, once it is known
        self._running: dict[str, HelperAccount] = {}
        self._claims = HelperClaims(opening.places)
        self._roles: Roles | None = None

    async def run(self, bench: Workbench, wanted: Sequence[HelperTask]) -> ToolResult:
        self._check(wanted)
        self._roles = self._roles or Roles(self._opening)
        entered = {task.role: self._roles.entered(task.role) for task in wanted}
        parent = self._opening.attach(Surface.RPC).id
        rows = needed(self._opening.places)
        known = assignments(rows, parent)
        self._next = max(self._next, len(known) + 1)
        events = [one.event for one in rows.read(parent, kinds=("tool_finished", "model_consulted"))]
        rows.close()
        cut = {e.call: e.status is CallStatus.INTERRUPTED for e in events if isinstance(e, ToolFinished)}
        charged: dict[str, tuple[Usage, float]] = {}
        for event in events:
            if isinstance(event, ModelConsulted) and event.helper:
                usage, cost = charged.get(event.helper, (Usage(), 0.0))
                charged[event.helper] = usage.plus(event.usage), cost + event.cost
        given = seats(parent, wanted, known, cut, frozenset(self._running), self._next)
        self._next += sum(not seat.begun for seat in given)
        call = HelperCall(self._opening, self._settings, bench, self._slots, given, entered, self._claims, charged)
        self._running.update(call.accounts)
        try:
            ended = list(zip(given, await call.run(), strict=True))
        finally:
            for seat in given:
                self._running.pop(seat.session, None)
        return ToolResult(report(ended), summary=outcome(ended), consulted=call.unreported)

    def running(self) -> list[HelperAccount]:
        return list(self._running.values())

    def _check(self, wanted: Sequence[HelperTask]) -> None:
        above = self._opening.attach(Surface.RPC).state.helper
        if (above.depth if above else 0) >= self._settings.depth:
            raise ToolFailed(f"no helper may be started here: helpers.depth = {self._settings.depth}")
        if not 1 <= len(wanted) <= MOST_HELPERS:
            raise ToolFailed(f"run_helpers: {counted(len(wanted), 'helper')}; 1 to {MOST_HELPERS} are allowed")
        if not all(task.task.strip() for task in wanted):
            raise ToolFailed("run_helpers: expected a task for each helper")


def open_helpers(opening: Opening) -> Helpers:
    return Helpers(opening)


def board_rows(helpers: Helpers) -> list[BoardEntry]:
    return [
        BoardEntry(BoardKind.FEATURE, one.name, "▶", one.name, one.line().partition(": ")[2], "accent")
        for one in helpers.running()
    ]
