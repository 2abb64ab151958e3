"""What contains a command: bubblewrap, else Landlock (`partial`; on macOS sandbox-exec), else nothing; always built
from the call's grant.

`Containment.launch` says how to start a command so that it can do what its grant says and no more; `settle` looks,
when it is over, for protected paths that appeared meanwhile. Which one works here is found by trying.

confine.py, sandbox_init.py, kept_sandbox_init.py, user_network.py and lfs_filter.py are run as scripts of their own,
alone (`python -I -S`, from a copy in bubblewrap), so that they start fast and load nothing that a project could have
put in their way. They import nothing of Quintet's, so what several of them need is written in each;
`tests/adapters/sandbox/test_script_constants.py` compares it.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from quintet.adapters.processes.host_programs import program
from quintet.domain.permission.effects import Sandbox

if TYPE_CHECKING:
    from quintet.adapters.protected.scan import Scanner
    from quintet.adapters.sandbox.containment import Containment, SandboxSetup


def chosen(use: str) -> Sandbox:
    """The containment that the setting asks for."""
    return works_here() if use == "auto" else Sandbox(use)


def works_here() -> Sandbox:
    """The strongest containment that starts on this machine."""
    return found_here()[0]


@cache
def found_here() -> tuple[Sandbox, str]:
    """The strongest containment that starts on this machine, and why no stronger one does."""
    from quintet.adapters.sandbox.probe import strongest

    return strongest()


def networks() -> tuple[str, ...]:
    """The programs on this machine that can give a sandbox a network of its own. Nothing is started to find out."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return ()
    return tuple(found for name in ("pasta", "slirp4netns") if (found := program(name)))


def loopback_open(kind: Sandbox, wanted: str) -> bool:
    """Whether a command with a network reaches this machine's own ports too."""
    return kind is not Sandbox.BWRAP or wanted == "open" or not networks()


def contain(kind: Sandbox, setup: SandboxSetup, scanner: Scanner | None = None, records: str = "") -> Containment:
    """The containment of a kind. `scanner` may be shared; `records`: where what stands here while commands run goes."""
    if kind is Sandbox.BWRAP:
        from quintet.adapters.sandbox.bubblewrap import Bubblewrap

        return Bubblewrap(setup, scanner, records)
    from quintet.adapters.sandbox.confine import LINUX
    from quintet.adapters.sandbox.landlock import Landlock, Uncontained

    if kind is Sandbox.PARTIAL and not LINUX:
        from quintet.adapters.sandbox.seatbelt import Seatbelt

        return Seatbelt(setup, scanner, records)
    return (Landlock if kind is Sandbox.PARTIAL else Uncontained)(setup, scanner, records)
