"""Making, taking up and forking sessions: the steps before there is an owner."""

from __future__ import annotations

from msgspec import UNSET

from quintet import __version__
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.dials.axes import Axes
from quintet.domain.journal.protocol import SessionOpened, encode
from quintet.domain.journal.session_summary import summarise
from quintet.domain.journal.state import SessionState, fold
from quintet.domain.ports.ports import Batch, Lease, SessionRow
from quintet.engine.checkpoints.rewind_points import point_at, points_of
from quintet.engine.session.core import Core


async def create_session(
    core: Core,
    axes: Axes,
    lease: Lease | None = None,
    *,
    session: str = "",
    parent: str = "",
    forked_after: int = 0,
    by: str = "",
) -> SessionState:
    """Write a new session's row and first event; `by`: what began it, if not a person."""
    session = session or (lease.session if lease else core.ids.new("q5"))
    opened = SessionOpened(
        session=session,
        project=core.project,
        axes=axes,
        program=__version__,
        parent=parent,
        forked_after=forked_after,
        by=by or UNSET,
    )
    state = fold([recorded.event for recorded in core.store.read(parent, 0, forked_after)] if parent else [])
    state.apply(opened)
    now = core.clock.now()
    summary = encode(summarise(state))
    above = core.store.session(parent) if parent else None
    row = SessionRow(session, now, now, parent, forked_after, above.title if above else "", summary, "", 0, "", 0.0)
    await core.store.create(row, Batch(lease, [("session_opened", encode(opened))], now, summary))
    return state


async def fork_session(core: Core, session: str, at: str = "") -> str:
    """A new session that begins with the finished turns of `session`, up to the one of the number `at`."""
    row = core.store.session(session)
    if row is None:
        raise NotFound(f"no session {session}")
    if at:
        point = point_at(points_of(core.store, session), at)
        if not point.end:
            raise UsageError(f"turn {at} has not finished yet")
        last = point.end
    else:
        last = max(core.store.last_of_type(session, kind) for kind in ("turn_finished", "rewound"))
    if not last:
        raise UsageError("there is nothing to fork yet: no turn has finished")
    axes = fold([recorded.event for recorded in core.store.read(session)]).axes
    forked = core.ids.new("q5")
    await create_session(core, axes, session=forked, parent=session, forked_after=last)
    return forked
