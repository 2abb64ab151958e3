"""Who owns a session: a lease with a heartbeat, given up when its process is gone."""

from __future__ import annotations

from collections.abc import Callable

from quintet.domain.ports import SessionRow

LEASE_SECONDS = 15.0
HEARTBEAT_SECONDS = 5.0


def owner_lives(row: SessionRow, now: float, process_start: Callable[[int], str]) -> bool:
    """Whether a live process owns the session now."""
    if not row.owner or row.lease_until < now:
        return False
    return not row.owner_started or process_start(row.owner_pid) == row.owner_started
