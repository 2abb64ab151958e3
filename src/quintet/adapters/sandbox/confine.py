"""A small parent for one command, run as a script of its own: confines it with Landlock and seccomp if asked to, ends
everything the command left behind, however well it hid, and ends it with everything when Quintet is gone.

Quintet reads the other end of REPORT for as long as it wants the command. Nothing runs unless somebody reads there, and
when nobody does any more all of it is killed: there is no moment at which a killed Quintet leaves a command behind.

Usage: confine.py REPORT HOW PROGRAM …; REPORT: a handle to write to, or `-`. HOW:
watch: the command as it is; when it ends by itself, what left its group stays.
bound: without new privileges, and nothing outlives it.
terminal: the same, and standard input becomes the terminal that signals it.
landlock FILTER COUNT READ… COUNT WRITE…: the same without a terminal, confined.
Exit code: the command's own; 125 when it could not be confined, and then the command has not run.

On systems without prctl (macOS) the command has a process group of its own instead, and a guard ends that group with
this process; what leaves the group there is not found.
"""

from __future__ import annotations

import _ctypes  # `ctypes` and `signal` take milliseconds to load, as in sandbox_init.py
import _signal  # type: ignore[import-not-found]
import fcntl
import os
import select
import stat
import struct
import sys
import time

NOT_CONFINED = 125
NOT_STARTED = 127
LOOK_AGAIN_SECONDS = 0.005
COMPLAINT = "the sandbox could not be set up: "
STANDING = b"standing"  # as in sandbox_init.py
MISSING = b"missing"  # there is no such program
NO_REPORT = "-"
WATCH, BOUND, TERMINAL, LANDLOCK = "watch", "bound", "terminal", "landlock"
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # the rights a rule on a single file may carry
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER = 1, 38, 22, 36
_PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 24, 28
_KEYCTL = {"x86_64": 250, "aarch64": 219}  # the machines for which there is a filter
_TIOCSCTTY = 0x540E
_TIOCSCTTY_ELSEWHERE = 0x20007461
_REAP_MILLISECONDS = 1000
_SIG_DFL, _SIG_IGN, _SIGINT, _SIGKILL, _SIGTERM = 0, 1, 2, 9, 15
# A command begins with these as a terminal's would, though Python ignores two of them, and whoever started us in the
# background of a script the others: interrupt, quit, pipe, file size.
_TO_DEFAULT = (2, 3, 13, 25)


class _Int(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "i"


class _Long(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "l"


class _Char(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class _Function(_ctypes.CFuncPtr):
    """A function of the C library, as in sandbox_init.py."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Int


LINUX = hasattr(os, "pidfd_open")
_handle = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
_c_prctl, _c_capset, _c_syscall, _c_ioctl = (
    _Function(_ctypes.dlsym(_handle, name) if LINUX else 0) for name in ("prctl", "capset", "syscall", "ioctl")
)


def landlock_version() -> int:
    """The kernel's Landlock ABI; 0 where there is none."""
    return max(int(_c_syscall(_Long(_CREATE_RULESET), None, _Long(0), _Long(1))), 0)


def network_can_be_blocked() -> bool:
    return os.uname().machine in _KEYCTL


def _checked(result: int) -> int:
    if result < 0:
        number = _ctypes.get_errno()
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
    ruleset = _checked(_c_syscall(_Long(_CREATE_RULESET), attributes, _Long(len(attributes)), _Long(0)))
    for paths, rights in ((read, _READ & handled), (write, handled)):
        for path in paths:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            whole = stat.S_ISDIR(os.fstat(handle).st_mode)
            rule = struct.pack("=Qi", rights if whole else rights & _FILE, handle)
            _checked(_c_syscall(_Long(_ADD_RULE), _Long(ruleset), _Long(1), rule, _Long(0)))
            os.close(handle)
    _checked(_c_syscall(_Long(_RESTRICT_SELF), _Long(ruleset), _Long(0)))
    os.close(ruleset)


def _filter_calls(program: bytes) -> None:
    """The kernel refuses what the filter says, to this process and all it starts."""
    held = (_Char * len(program)).from_buffer_copy(program)
    described = struct.pack("HxxxxxxP", len(program) // 8, _ctypes.addressof(held))
    _checked(_c_prctl(_PR_SET_SECCOMP, 2, described, 0, 0))


def _leave_the_keyring() -> None:
    """A session keyring of our own, as in sandbox_init.py: the inherited one holds the user's keys."""
    number = _KEYCTL.get(os.uname().machine)
    if number:
        _c_syscall(_Long(number), _Long(1), None)


def _drop_privileges() -> None:
    """Root in this sandbox is a user like any other: it cannot set clocks, mount or trace."""
    if _c_prctl(_PR_SET_SECUREBITS, 3, 0, 0, 0) < 0:  # programs run as root get no privileges back, for good
        return  # not root to begin with
    number = 0
    while _c_prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    _checked(_c_capset(struct.pack("Ii", 0x20080522, 0), bytes(24)))


def confine(rules: str, read: list[str], write: list[str]) -> None:
    """Put this process and all it will start under these limits, for good."""
    _drop_privileges()
    _leave_the_keyring()
    _restrict_files(read, write)
    _filter_calls(bytes.fromhex(rules))


def _taken(words: list[str]) -> tuple[list[str], list[str]]:
    """As many words as the first one says, and the rest."""
    end = 1 + int(words[0])
    return words[1:end], words[end:]


def _say(number: int, text: str) -> None:
    os.write(number, text.encode("utf-8", "surrogateescape"))


def _run(report: int, how: str, words: list[str]) -> None:
    """In the process that becomes the command."""
    try:
        if how == TERMINAL:
            os.setsid()
            if LINUX:
                _checked(_c_ioctl(0, _Long(_TIOCSCTTY), 0))
            else:
                fcntl.ioctl(0, _TIOCSCTTY_ELSEWHERE, 0)
        elif not LINUX:
            os.setpgid(0, 0)
        if how != WATCH and LINUX:
            _checked(_c_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        if how == LANDLOCK:
            rules = words[0]
            read, words = _taken(words[1:])
            write, words = _taken(words)
            confine(rules, read, write)
    except OSError as error:
        _say(2, f"{COMPLAINT}{error}\n")
        os._exit(NOT_CONFINED)
    if report >= 0:
        os.write(report, STANDING)  # which fails if nobody reads
    for number in _TO_DEFAULT:
        _signal.signal(number, _SIG_DFL)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        if how == WATCH and report >= 0 and isinstance(error, FileNotFoundError):
            os.write(report, MISSING)
        _say(2, f"{words[0]}: {error.strerror}\n")
        os._exit(NOT_STARTED)


def _end_the_rest() -> None:
    """Kill every remaining process. Orphans become our children, so this ends when there are none left."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            left = [int(pid) for pid in file.read().split()]  # each is ours until it is waited for, below
        refused = sum(not _kill(pid) for pid in left)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if left and refused == len(left):
            return  # all of them are somebody else's now: what became root cannot be ended
        time.sleep(LOOK_AGAIN_SECONDS)  # one that came to us just now may not have been on the list


def _kill(child: int) -> bool:
    """Whether a child of ours could be killed."""
    try:
        os.kill(child, _SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


def _status_of(command: int) -> int | None:
    """The exit status of the command, None while it runs; other children that have ended are reaped."""
    status = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            status = ended[1] if ended[0] == command else status
    except ChildProcessError:
        pass
    return status


def _waited(report: int, command: int) -> int | None:
    """The exit status of the command; None if nobody waits for it any more."""
    poll = select.poll()
    poll.register(os.pidfd_open(command), select.POLLIN)
    if report >= 0:
        poll.register(report, 0)  # only that the other end was closed
    while True:
        if any(handle == report for handle, _ in poll.poll(_REAP_MILLISECONDS)):
            return None
        status = _status_of(command)
        if status is not None:
            return status


def _told_to_end(number: int, frame: object) -> None:
    _end_the_rest()
    os._exit(128 + number)


def _guard(command: int, parent: int) -> None:
    """Ends the command's group when the parent is gone, unless it was told before that there is nothing to end."""
    os.setsid()
    told = os.read(parent, 1)
    if not told:
        _kill_group(command)
    os._exit(0)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, _SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _elsewhere(report: int, how: str, words: list[str]) -> int:
    """The same by what every POSIX system has: process groups, a pipe, and looking again and again."""
    _signal.signal(_SIGINT, _SIG_IGN)
    listens, tells = os.pipe()
    waits, begins = os.pipe()
    command = os.fork()
    if not command:
        os.close(begins)
        if not os.read(waits, 1):  # nothing begins before the guard stands
            os._exit(128 + _SIGKILL)
        _run(report, how, words)
    if not os.fork():
        for handle in (tells, begins, 0, 1, 2, *((report,) if report >= 0 else ())):
            os.close(handle)
        _guard(command, listens)
    os.close(listens)
    os.write(begins, b"+")

    def told_to_end(number: int, frame: object) -> None:
        _kill_group(command)
        os._exit(128 + number)

    _signal.signal(_SIGTERM, told_to_end)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nowhere, handle)
    poll = select.poll()
    if report >= 0:
        poll.register(report, 0)
    while True:
        ended, status = os.waitpid(command, os.WNOHANG)
        if ended:
            break
        if poll.poll(LOOK_AGAIN_SECONDS * 1000):
            _kill_group(command)
            return 128 + _SIGKILL
    if how == WATCH:
        os.write(tells, b"-")
    else:
        _kill_group(command)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def main(report: int, how: str, words: list[str]) -> int:
    if report >= 0:
        os.set_inheritable(report, False)
    if not LINUX:
        return _elsewhere(report, how, words)
    _checked(_c_prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    _signal.signal(_SIGINT, _SIG_IGN)
    ours = os.getpid()
    command = os.fork()
    if not command:
        _checked(_c_prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0))
        if os.getppid() != ours:  # killed before this one could hear of it
            os._exit(128 + _SIGKILL)
        _run(report, how, words)
    _signal.signal(_SIGTERM, _told_to_end)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):  # what the command prints ends when the command does
        os.dup2(nowhere, handle)
    status = _waited(report, command)
    if status is None or how != WATCH:
        _end_the_rest()
    if status is None:
        return 128 + _SIGKILL
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main(-1 if sys.argv[1] == NO_REPORT else int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
