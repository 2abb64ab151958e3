"""Who owns a session or works at a task: a lease that its process holds until it ends or lets go.

A process is known by its identity: the machine's start, the process namespace, the moment it began. So one that was
suspended, or whose clock was set, is told from one that is gone, and a process id that came back from both.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from quintet.domain.base.errors import NotFound
from quintet.domain.journal.store_rows import Lease, SessionRow

if TYPE_CHECKING:  # whoever only asks who lives does without
    from quintet.engine.session.core import Core

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

    @property
    def machine(self) -> str: ...


def owner_lives(row: Owned, now: float, identity: Callable[[int], str]) -> bool:
    """Whether a live process owns it; `now` is on the clock of leases, `identity` that of a process, empty if gone.

    Where the process can be looked at, that alone decides, and no time makes it lose what it owns. Its heartbeat
    counts only where it cannot: in another container, on another machine of those that share the store, or where the
    system tells nothing of processes. A shared store gives `lease_until` on this machine's own clock.
    """
    if not row.owner:
        return False
    boot, _, rest = row.owner_started.partition("/")
    if not rest:  # of an older Quintet, which kept the moment alone; or of a system that knows none
        seen = identity(row.owner_pid).rpartition("/")[2]
        return seen == boot if boot else row.lease_until >= now
    boot_here, _, rest_here = identity(os.getpid()).partition("/")
    if boot != boot_here:
        return bool(row.machine) and row.lease_until >= now  # another machine, or this one has started anew since
    if rest.partition("/")[0] != rest_here.partition("/")[0]:
        return row.lease_until >= now
    return identity(row.owner_pid) == row.owner_started


def new_lease(core: Core, session: str, former: int = 0) -> Lease:
    """A lease for this process; its number is above that of the former one."""
    pid = os.getpid()
    identity, until = core.ownership.process_identity(pid), core.clock.uptime() + LEASE_SECONDS
    return Lease(session, core.ids.new("owner"), pid, identity, until, former + 1)


def is_owned(core: Core, row: SessionRow) -> bool:
    return owner_lives(row, core.clock.uptime(), core.ownership.process_identity)


async def take_lease(core: Core, session: str) -> Lease | None:
    """Make this process the session's owner; None while another one lives, or if another process was faster."""
    row = core.store.session(session)
    if row is None:
        raise NotFound(f"session {session} no longer exists")
    if is_owned(core, row):
        return None
    lease = new_lease(core, session, row.lease_number)
    return lease if await core.store.take_lease(lease, row) else None
