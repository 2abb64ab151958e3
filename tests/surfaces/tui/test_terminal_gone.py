"""A terminal that goes away takes the program with it."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pexpect
import pytest

SECONDS = 60


@pytest.mark.parametrize("suspended", [False, True], ids=["at the prompt", "suspended"])
def test_the_program_ends_when_its_terminal_is_gone(tmp_path: Path, suspended: bool) -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "quintet"],
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm-256color"},
        dimensions=(24, 80),
        timeout=SECONDS,
    )
    child.expect("ready")
    if suspended:
        child.send("\x1a")
        while (told := os.waitpid(child.pid, os.WUNTRACED | os.WNOHANG)) == (0, 0):
            with suppress(pexpect.TIMEOUT):  # it has to be read from to come to an end of its writing
                child.read_nonblocking(10_000, 0.1)
        assert os.WIFSTOPPED(told[1])
    child.ptyproc.fileobj.close()  # the kernel sends SIGHUP, and nobody else anything
    until = time.monotonic() + SECONDS
    while (ended := os.waitpid(child.pid, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
        time.sleep(0.05)
    if ended == (0, 0):
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
    assert ended[0] == child.pid
