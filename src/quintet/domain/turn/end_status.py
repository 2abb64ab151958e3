"""How work ended: a turn, a stretch of a cycle, or an input with all that it began."""

from __future__ import annotations

from enum import StrEnum


class EndStatus(StrEnum):
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"  # it needs a person, or was refused
    LIMIT = "limit"
    INTERRUPTED = "interrupted"  # cut off; it can go on
    CANCELLED = "cancelled"
    WAITING = "waiting"  # of a cycle: for a person's word on its plan
    PAUSED = "paused"  # of a cycle
