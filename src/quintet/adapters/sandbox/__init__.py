"""What contains a command: bubblewrap, else Landlock (`partial`), else nothing; always built from the call's grant.

`Containment.launch` says how to start a command so that it can do what its grant says and no more; `settle` looks,
when it is over, for protected paths that appeared meanwhile. Which one works here is found by trying.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from quintet.domain.gate import Sandbox

if TYPE_CHECKING:
    from quintet.adapters.sandbox.ground import Containment, Ground


def chosen(use: str) -> Sandbox:
    """The containment that the setting asks for."""
    return works_here() if use == "auto" else Sandbox(use)


@cache
def works_here() -> Sandbox:
    """The strongest containment that starts on this machine."""
    from quintet.adapters.sandbox import bubblewrap, confine

    if bubblewrap.starts():
        return Sandbox.BWRAP
    return Sandbox.PARTIAL if confine.landlock_version() and confine.network_can_be_blocked() else Sandbox.NONE


def contain(kind: Sandbox, ground: Ground) -> Containment:
    if kind is Sandbox.BWRAP:
        from quintet.adapters.sandbox.bubblewrap import Bubblewrap

        return Bubblewrap(ground)
    if kind is Sandbox.PARTIAL:
        from quintet.adapters.sandbox.landlock import Landlock

        return Landlock(ground)
    from quintet.adapters.sandbox.ground import Uncontained

    return Uncontained(ground)
