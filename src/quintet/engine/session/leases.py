"""Who owns a session or works at a task: a lease with a heartbeat, given up when its process is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

LEASE_SECONDS = 15.0
HEARTBEAT_SECONDS = 5.0


class Owned(Protocol):
    @property
    def owner(self) -> str: ...

    @property
    def owner_pid(self) -> int: ...

    @property
    def owner_started(self) -> str: ...

    @property
    def lease_until(self) -> float: ...


def owner_lives(row: Owned, now: float, process_start: Callable[[int], str]) -> bool:
    """Whether a live process owns it now."""
    if not row.owner or row.lease_until < now:
        return False
    return not row.owner_started or process_start(row.owner_pid) == row.owner_started
