"""What is stored of a session's helpers."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from quintet.domain.journal.protocol import (
    HelperAssigned,
    ModelRequested,
    Recorded,
    ToolStarted,
    TurnFinished,
)
from quintet.domain.journal.state import SessionState
from quintet.domain.ports.stores import StoredRows
from quintet.domain.turn.messages import Usage
from quintet.features.helpers.values import session_of


class StoredHelper(Struct, frozen=True):
    """One helper, as its own journal tells of it."""

    session: str
    helper: str
    role: str
    task: str
    call: str  # of its parent, that it works for
    depth: int
    branch: str
    status: str  # how it ended; open if it has not
    requests: int
    calls: int
    usage: Usage
    cost: float
    report: str
    chain: tuple[str, ...] = ()


def assignments(rows: StoredRows, parent: str) -> list[HelperAssigned | None]:
    """What each helper of a session was assigned last, by its number; None if its process ended before that."""
    found: list[HelperAssigned | None] = []
    while rows.session(session_of(parent, len(found) + 1)):
        events = rows.read(session_of(parent, len(found) + 1), kinds=("helper_assigned",))
        found.append(_last(events, HelperAssigned))
    return found


def stored_helpers(rows: StoredRows, parent: str) -> list[StoredHelper]:
    """The helpers of a session and theirs, in the order they were started."""
    found: list[StoredHelper] = []
    for number, one in enumerate(assignments(rows, parent), 1):
        session = session_of(parent, number)
        if one:
            found.append(_stored(session, one, rows.read(session)))
        found += stored_helpers(rows, session)
    return found


def _stored(session: str, assigned: HelperAssigned, events: list[Recorded]) -> StoredHelper:
    state = SessionState()
    for recorded in events:
        state.apply(recorded.event)
    ended = None if state.turns.open else _last(events, TurnFinished)
    return StoredHelper(
        session=session,
        helper=assigned.helper,
        role=assigned.role,
        task=assigned.task,
        call=assigned.call,
        depth=assigned.depth,
        branch=assigned.branch,
        status=str(ended.status) if ended else "open",
        requests=sum(isinstance(one.event, ModelRequested) for one in events),
        calls=sum(isinstance(one.event, ToolStarted) for one in events),
        usage=state.spent.usage,
        cost=state.spent.cost,
        report=ended.answer if ended else "",
        chain=assigned.chain,
    )


def _last(events: list[Recorded], kind: type[Any]) -> Any:
    return next((one.event for one in reversed(events) if isinstance(one.event, kind)), None)
