"""A small parent for one command, run as a script of its own: confines it with Landlock and seccomp if asked to, and
ends everything the command left behind, however well it hid.

Usage: confine.py '{"landlock": true, "read": […], "write": […], "filter": "…", "terminal": false}' PROGRAM …
Exit code: the command's own; 125 when it could not be confined, and then the command has not run.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import platform
import signal
import stat
import struct
import sys
import termios
import time

NOT_CONFINED = 125
LOOK_AGAIN_SECONDS = 0.005
COMPLAINT = "the sandbox could not be put up: "
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # the rights a rule on a single file may carry
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER = 1, 38, 22, 36
_PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 24, 28
_KEYCTL = {"x86_64": 250, "aarch64": 219}  # the machines for which there is a filter
# A command begins with these as a terminal's would, though Python ignores the first two, and whoever started us in the
# background of a script the others.
_TO_DEFAULT = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT)
_HEARD = {signal.SIGTERM, signal.SIGCHLD}
_libc = ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """The kernel's Landlock ABI; 0 where there is none."""
    return max(int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))), 0)


def network_can_be_blocked() -> bool:
    return platform.machine() in _KEYCTL


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _restrict_files(read: list[str], write: list[str]) -> None:
    version = landlock_version()
    count = 13 if version < 2 else 14 if version < 3 else 15  # `refer` and `truncate` came later
    handled = (1 << count) - 1
    if version >= 5:
        handled |= 1 << 15  # ioctl on devices
    scoped = 3 if version >= 6 else 0  # abstract sockets and signals stay among the command's own processes
    attributes = struct.pack("QQQ", handled, 0, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = _checked(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for paths, rights in ((read, _READ & handled), (write, handled)):
        for path in paths:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            whole = stat.S_ISDIR(os.fstat(handle).st_mode)
            rule = struct.pack("=Qi", rights if whole else rights & _FILE, handle)
            _checked(_libc.syscall(_ADD_RULE, ruleset, 1, rule, 0))
            os.close(handle)
    _checked(_libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _filter_calls(program: bytes) -> None:
    """The kernel refuses what the filter says, to this process and all it starts."""
    held = ctypes.create_string_buffer(program, len(program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held)))
    _checked(_libc.prctl(_PR_SET_SECCOMP, 2, filters, 0, 0))


def _leave_the_keyring() -> None:
    """A session keyring of our own, as in sandbox_init.py: the inherited one holds the user's keys."""
    number = _KEYCTL.get(platform.machine())
    if number:
        _libc.syscall(ctypes.c_long(number), ctypes.c_long(1), None)


def _drop_privileges() -> None:
    """Root in this sandbox is a user like any other: it cannot set clocks, mount or trace."""
    if _libc.prctl(_PR_SET_SECUREBITS, 3, 0, 0, 0) < 0:  # programs run as root get no privileges back, for good
        return  # not root to begin with
    number = 0
    while _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _checked(_libc.capset(header, nothing))


def confine(limits: dict[str, object]) -> None:
    """Put this process and all it will start under these limits, for good."""
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if limits.get("landlock"):
        _drop_privileges()
        _leave_the_keyring()
        _restrict_files(list(limits["read"]), list(limits["write"]))  # type: ignore[call-overload]
        _filter_calls(bytes.fromhex(str(limits["filter"])))


def _run(limits: dict[str, object], argv: list[str]) -> None:
    try:
        confine(limits)
    except OSError as error:
        sys.stderr.write(f"{COMPLAINT}{error}\n")
        os._exit(NOT_CONFINED)
    for number in _TO_DEFAULT:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        os._exit(127)


def _end_the_rest() -> None:
    """Kill every remaining process. Orphans become our children, so this ends when there are none left."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            left = file.read().split()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(LOOK_AGAIN_SECONDS)  # one that came to us just now may not have been on the list


def _status_of(command: int) -> int | None:
    """The exit status of the command, None while it runs; other children that have ended are reaped."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            status = ended[1] if ended[0] == command else status
    return status


def main(limits: dict[str, object], argv: list[str]) -> int:
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    # If this process were killed with its parent, the command would run on: it gets SIGTERM and ends the command first.
    # It waits for the signals themselves: one that a handler takes just before a wait for children would go unheard.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0))
    command = os.fork()
    if not command:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        if limits.get("terminal"):  # standard input becomes the terminal that signals the command
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        _run(limits, argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = None
    while status is None:
        if signal.sigwait(_HEARD) == signal.SIGTERM:
            _end_the_rest()
            return 128 + signal.SIGTERM
        status = _status_of(command)
    _end_the_rest()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
