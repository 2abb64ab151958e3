"""What a session's owner and its store hand to each other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class SessionRow(Struct, frozen=True):
    """A session as listings show it, kept beside its journal by the same transactions."""

    id: str
    created: str
    updated: str
    parent: str
    forked_after: int
    title: str
    summary: bytes  # JSON of SessionSummary
    owner: str
    owner_pid: int
    owner_started: str
    lease_until: float
    lease_number: int = 0  # of the newest lease
    machine: str = ""  # the owner's, where the store is shared by several


class Lease(Struct, frozen=True, omit_defaults=True):
    """The right to write a session. Every taking of it has a higher number, and only the newest one counts."""

    session: str
    owner: str
    pid: int
    started: str  # identity of the process, so that a reused pid is not taken for it
    until: float
    number: int = 0


class Batch(Struct, frozen=True):
    """What one transaction writes for one session."""

    lease: Lease | None
    events: Sequence[tuple[str, bytes]]  # type, JSON
    at: str
    summary: bytes
    title: str = ""
    consumed: str = ""  # the submission this batch answers
    opens: Sequence[tuple[str, str]] = ()  # (question, body)
    closes: Sequence[tuple[str, str]] = ()  # (question, answer)


class Unreadable(Struct, frozen=True):
    """A row of the inbox that this program cannot read: damaged, or of another time. It stays where it is."""

    id: str
    why: str
