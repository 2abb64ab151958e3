"""Who lives and who is gone: told from the process where it can be seen, from its heartbeat where it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from quintet.adapters.processes.system import process_identity
from quintet.domain.journal.store_rows import SessionRow
from quintet.engine.session.leases import owner_lives


def here(pid: int) -> str:
    return {os.getpid(): "boot/space/100", 7: "boot/space/70"}.get(pid, "")


def row(owner: str, started: str, pid: int = 7, until: float = 0.0) -> SessionRow:
    return SessionRow("q5-1", "", "", "", 0, "", b"{}", owner, pid, started, until, 1)


@pytest.mark.parametrize(
    ("started", "pid", "until", "lives"),
    [
        ("boot/space/70", 7, 0.0, True),  # its lease ran out long ago: it was suspended, or its loop was blocked
        ("boot/space/70", 7, 9e9, True),
        ("boot/space/69", 7, 9e9, False),  # another process has its id now
        ("boot/space/70", 8, 9e9, False),  # gone
        ("before/space/70", 7, 9e9, False),  # the machine has started anew, and the same id began at the same moment
        ("boot/other/70", 7, 50.0, True),  # of another container: its heartbeat counts
        ("boot/other/70", 7, 49.9, False),
        ("70", 7, 0.0, True),  # of an older Quintet
        ("69", 7, 9e9, False),
        ("", 7, 50.0, True),  # of a system that knows no start of processes
        ("", 7, 49.9, False),
    ],
)
def test_an_owner_lives_while_its_process_does(started: str, pid: int, until: float, lives: bool) -> None:
    assert owner_lives(row("owner-1", started, pid, until), 50.0, here) is lives


def test_nobody_owns_what_has_no_owner() -> None:
    assert not owner_lives(row("", "boot/space/70", until=9e9), 50.0, here)


def test_a_process_that_is_stopped_lives_and_one_that_was_killed_does_not() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owned = row("owner-1", process_identity(process.pid), process.pid)
    process.send_signal(signal.SIGSTOP)
    assert owner_lives(owned, 9e9, process_identity)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its entry is still there, and it is gone
    assert not owner_lives(owned, 9e9, process_identity)
    process.communicate()
    assert not owner_lives(owned, 9e9, process_identity)
