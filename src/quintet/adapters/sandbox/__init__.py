"""What contains a command: bubblewrap, else Landlock (`partial`), else nothing; always built from the call's grant.

`Containment.launch` says how to start a command so that it can do what its grant says and no more; `settle` looks,
when it is over, for protected paths that appeared meanwhile. Which one works here is found by trying.

confine.py, inside.py, kept_sandbox_init.py and user_network.py are run as scripts of their own, alone (`python -I -S`,
from a copy in bubblewrap), so that they start fast and load nothing that a project could have put in their way. They
import nothing of Quintet's, so what several of them need is written in each;
`tests/adapters/sandbox/test_script_constants.py` compares it.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from quintet.domain.permission.effects import Sandbox

if TYPE_CHECKING:
    from quintet.adapters.sandbox.containment import Containment
    from quintet.adapters.sandbox.project_watch import Ground


def chosen(use: str) -> Sandbox:
    """The containment that the setting asks for."""
    return works_here() if use == "auto" else Sandbox(use)


def works_here() -> Sandbox:
    """The strongest containment that starts on this machine."""
    return found_here()[0]


@cache
def found_here() -> tuple[Sandbox, str]:
    """The strongest containment that starts on this machine, and why no stronger one does."""
    from quintet.adapters.sandbox import bubblewrap

    why = bubblewrap.hindrance()
    if not why:
        return Sandbox.BWRAP, ""
    from quintet.adapters.sandbox import confine

    if not confine.landlock_version():
        return Sandbox.NONE, f"{why}; and this kernel has no Landlock"
    if not confine.network_can_be_blocked():
        return Sandbox.NONE, f"{why}; and Landlock alone cannot close the network on this kind of machine"
    return Sandbox.PARTIAL, why


def networks() -> tuple[str, ...]:
    """The programs on this machine that can give a sandbox a network of its own. Nothing is started to find out."""
    from quintet.adapters.processes.host_programs import program

    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return ()
    return tuple(found for name in ("pasta", "slirp4netns") if (found := program(name)))


def loopback_open(kind: Sandbox, wanted: str) -> bool:
    """Whether a command with a network reaches this machine's own ports too."""
    return kind is not Sandbox.BWRAP or wanted == "open" or not networks()


def contain(kind: Sandbox, ground: Ground) -> Containment:
    if kind is Sandbox.BWRAP:
        from quintet.adapters.sandbox.bubblewrap import Bubblewrap

        return Bubblewrap(ground)
    if kind is Sandbox.PARTIAL:
        from quintet.adapters.sandbox.landlock import Landlock

        return Landlock(ground)
    from quintet.adapters.sandbox.uncontained import Uncontained

    return Uncontained(ground)
