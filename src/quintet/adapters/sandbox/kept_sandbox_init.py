"""The inside of a kept sandbox, run there as its first process: takes one command after another and runs it.

Usage: kept_sandbox_init.py HANDLE: a socket of packets. In come JSON [folder, program, …] with the handle to print to,
and one more if errors go apart, `interrupt` or `kill`; out go `ready` and, when a command is over and nothing of it
lives, its exit code. As the first process it cannot be killed from inside, and nothing inside can trace it. It ends,
and all with it, when the other end is closed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys

READY = b"ready"
INTERRUPT = b"interrupt"
KILL = b"kill"
MOST_BYTES = 65_536  # of one command
NOT_STARTED = 127
_PR_SET_DUMPABLE = 4
_REAP_MILLISECONDS = 1000
_TO_DEFAULT = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT)  # as in confine.py


def main(handle: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    with socket.socket(fileno=handle) as line:
        line.set_inheritable(False)
        line.send(READY)
        while True:
            data, handles, _, _ = socket.recv_fds(line, MOST_BYTES, 2)
            if not data:
                return
            if handles:  # a signal that came too late has none
                folder, *argv = json.loads(data)
                line.send(str(_run(line, folder, argv, handles)).encode())


def _run(line: socket.socket, folder: str, argv: list[str], prints: list[int]) -> int:
    try:
        command = _started(folder, argv, prints)
    except OSError as error:
        os.write(prints[-1], f"{error.filename or argv[0]}: {error.strerror}\n".encode("utf-8", "surrogateescape"))
        return NOT_STARTED
    finally:
        for handle in prints:
            os.close(handle)
    status = _waited(line, command)
    _signal_all(signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):  # orphans come to the first process: when there are no more, all ended
        while True:
            os.waitpid(-1, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _started(folder: str, argv: list[str], prints: list[int]) -> int:
    """Not forked but spawned, which copies nothing of this process; so it goes to the folder itself."""
    os.chdir(folder)
    handles = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, prints[0], 1),
        (os.POSIX_SPAWN_DUP2, prints[-1], 2),
        *((os.POSIX_SPAWN_CLOSE, handle) for handle in prints),
    ]
    return os.posix_spawnp(argv[0], argv, os.environ, file_actions=handles, setsid=True, setsigdef=_TO_DEFAULT)


def _waited(line: socket.socket, command: int) -> int:
    """The command's status, when it is over; until then signals are passed on and orphans are let go."""
    over = os.pidfd_open(command)
    poll = select.poll()
    poll.register(over, select.POLLIN)
    poll.register(line, select.POLLIN)
    try:
        while True:
            if any(handle == line.fileno() for handle, _ in poll.poll(_REAP_MILLISECONDS)):
                said = line.recv(MOST_BYTES)
                if not said:
                    os._exit(0)
                _signal_all(signal.SIGINT if said == INTERRUPT else signal.SIGKILL)
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == command:
                    return ended[1]
    finally:
        os.close(over)


def _signal_all(number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, number)


if __name__ == "__main__":
    main(int(sys.argv[1]))
