"""The first program in a bubblewrap sandbox, run there as a script of its own: lays what protects the project.

Bubblewrap mounts by name, and names inside a project can be swapped for links while it does. Here every mount inside it
is laid from descriptor to descriptor, on the very file that was looked at outside; if that file is no longer there,
nothing runs. Then all rights are given up, and the command is run.

It is the first process of its namespace: one of bubblewrap's would stand outside what is laid here, and be a way
around it by /proc/1/root or a tracer. So it stays as the parent of the command, unless a kept sandbox takes its place.

Usage: sandbox_init.py NETWORK REPORT stay|go FILTER {HOW BASE NAME DEVICE:NUMBER}… -- PROGRAM …; HOW: ro, rw, cover,
empty, seal.
"""

from __future__ import annotations

import _ctypes  # `ctypes` itself, like `signal`, takes milliseconds to load, for names that are not wanted here
import _signal  # type: ignore[import-not-found]
import errno
import os
import stat
import struct
import sys

NOT_CONFINED = 125  # as in confine.py
COMPLAINT = "the sandbox could not be set up: "
STANDING = b"standing"
NO_REPORT = NO_NETWORK = "-"
HERE, UP = b"here", b"up"  # asks for a network, and is answered: user_network.py
NOT_ATTACHED = 'no network could be attached; the setting sandbox.loopback = "open" uses this machine\'s own'
STAY, GO = "stay", "go"
READ_ONLY, WRITABLE, COVER, EMPTY, SEAL = "ro", "rw", "cover", "empty", "seal"
_STAGE = b"/run/quintet"  # /run is the sandbox's own, and empty
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_MOVE, _MS_REC, _MS_PRIVATE = 1, 1 << 5, 1 << 12, 1 << 13, 1 << 14, 1 << 18
# What a mount forbids cannot be allowed again by a remount: flags of statvfs, and what mount(2) calls them.
_FLAGS = ((2, 2), (4, 4), (8, 8), (1024, 1024), (2048, 2048), (4096, 1 << 21))
_MNT_DETACH, _CLONE_NEWNS = 2, 1 << 17
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 24, 47, 22, 38
_PR_SET_DUMPABLE = 4
_SIG_DFL, _SIG_IGN, _TO_DEFAULT = 0, 1, (2, 3, 13, 25)  # as in confine.py: interrupt, quit, pipe, file size
_KEYCTL = {"x86_64": 250, "aarch64": 219}


class _Int(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "i"


class _Long(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "l"


class _Char(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class _Function(_ctypes.CFuncPtr):
    """A function of the C library that returns an int and sets errno, as `ctypes.CDLL(None, use_errno=True)` has it."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Int


_handle = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
_c_mount, _c_umount, _c_unshare, _c_prctl, _c_capset, _c_syscall = (
    _Function(_ctypes.dlsym(_handle, name)) for name in ("mount", "umount2", "unshare", "prctl", "capset", "syscall")
)


class PlaceChanged(Exception):
    """What was looked at outside is not what is here."""


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = _ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def _mount(
    source: bytes | None, target: bytes, flags: int, kind: bytes | None = None, data: bytes | None = None
) -> None:
    _checked(_c_mount(source, target, kind, _Long(flags), data), os.fsdecode(target))


def _by_descriptor(handle: int) -> bytes:
    return b"/proc/self/fd/%d" % handle


def opened(base: str, name: str, identity: str) -> int:
    """The file that was looked at, reached without following a link; -1 if no process in the sandbox can reach it.

    A folder that is closed to its owner can be opened again by its owner, who is the command: then nothing runs.
    """
    at = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in name.split("/"):
        try:
            step = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        except OSError as error:
            if error.errno == errno.EACCES and os.fstat(at).st_uid != os.getuid():
                return -1
            raise PlaceChanged(f"{base}/{name}") from None
        finally:
            os.close(at)
        at = step
    found = os.fstat(at)
    if f"{found.st_dev}:{found.st_ino}" != identity:
        raise PlaceChanged(f"{base}/{name}")
    return at


class MountStage:
    """A place of our own where a mount is made ready before it is moved to where it belongs."""

    def __init__(self) -> None:
        self._count = 0
        os.makedirs(_STAGE, mode=0o700, exist_ok=True)
        _mount(b"tmpfs", _STAGE, 0, b"tmpfs", b"mode=0700")

    def spot(self, is_folder: bool, access: int) -> bytes:
        self._count += 1
        path = b"%b/%d" % (_STAGE, self._count)
        if is_folder:
            os.mkdir(path, access)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, access))
        return path

    def clone(self, source: bytes, spot: bytes, *, read_only: bool) -> bytes:
        _mount(source, spot, _MS_BIND | _MS_REC)
        if read_only:
            seal(spot)
        return spot

    def close(self) -> None:
        _checked(_c_umount(_STAGE, _MNT_DETACH), os.fsdecode(_STAGE))
        os.rmdir(_STAGE)


def seal(path: bytes) -> None:
    """Make a mount read-only."""
    held = os.statvfs(path).f_flag
    flags = sum(flag for bit, flag in _FLAGS if held & bit)
    _mount(None, path, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)


def lay(items: list[tuple[str, str, str, str]]) -> None:
    _checked(_c_unshare(_CLONE_NEWNS), "unshare")
    _mount(None, b"/", _MS_REC | _MS_PRIVATE)
    stage = MountStage()
    writable: dict[tuple[str, str], bytes] = {}
    for how, base, name, identity in items:  # what is to be written is taken before its project is sealed
        if how == WRITABLE and (handle := opened(base, name, identity)) >= 0:
            writable[base, name] = stage.clone(_by_descriptor(handle), _spot_for(stage, handle), read_only=False)
            os.close(handle)
    for how, base, name, identity in items:
        if how == SEAL:
            seal(os.fsencode(base))
            continue
        handle = opened(base, name, identity)
        if handle < 0:
            continue
        target = _by_descriptor(handle)
        if how == WRITABLE:
            spot = writable[base, name]
        elif how == READ_ONLY:
            spot = stage.clone(target, _spot_for(stage, handle), read_only=True)
        else:
            empty = _spot_for(stage, handle, 0o444 if how == EMPTY else 0)
            spot = stage.clone(empty, empty, read_only=True)
        _mount(spot, target, _MS_MOVE)
        os.close(handle)
    stage.close()


def _spot_for(stage: MountStage, handle: int, access: int = 0o700) -> bytes:
    return stage.spot(stat.S_ISDIR(os.fstat(handle).st_mode), access)


def leave_the_keyring() -> None:
    """A session keyring of our own: the one that was inherited holds the user's keys.

    Where it cannot be had, keyctl(2) cannot be called either; the filter refuses it in any case.
    """
    number = _KEYCTL.get(os.uname().machine)
    if number:
        _c_syscall(_Long(number), _Long(1), None)


def give_up_rights() -> None:
    _checked(_c_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    number = 0
    while _c_prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    _checked(_c_prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0), "ambient")
    _checked(_c_capset(struct.pack("Ii", 0x20080522, 0), bytes(24)), "capset")


def filter_calls(program: bytes) -> None:
    """From here on the kernel refuses what the filter says; it is inherited, and cannot be taken off."""
    held = (_Char * len(program)).from_buffer_copy(program)
    described = struct.pack("HxxxxxxP", len(program) // 8, _ctypes.addressof(held))
    _checked(_c_prctl(_PR_SET_SECCOMP, 2, described, 0, 0), "seccomp")


def wait_for(network: int) -> None:
    """Until the network is up; nothing runs with another one."""
    if os.read(network, len(UP)) != UP:
        raise OSError(NOT_ATTACHED)
    os.close(network)


def stay() -> None:
    """Fork: the command goes on, and this process ends with it, and all that is left with this process."""
    command = os.fork()
    if not command:
        return
    _c_prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # nothing inside can trace it
    for number in (2, 3, 15):
        _signal.signal(number, _SIG_IGN)
    devnull = os.open("/dev/null", os.O_RDWR)
    for handle in (0, 1, 2):  # what the command prints ends when the command does
        os.dup2(devnull, handle)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == command:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def main(network: str, report: str, how: str, program: str, rest: list[str]) -> None:
    end = 1 + 4 * int(rest[0])  # counted, for a folder may have any name
    items = [(rest[at], rest[at + 1], rest[at + 2], rest[at + 3]) for at in range(1, end, 4)]
    argv = rest[end:]
    folder = os.getcwd()
    try:
        if network != NO_NETWORK:
            os.write(int(network), HERE)
        if items:
            lay(items)
        os.chdir(folder)  # through what was laid
        leave_the_keyring()
        give_up_rights()
        if program:
            filter_calls(bytes.fromhex(program))
        if network != NO_NETWORK:
            wait_for(int(network))
    except PlaceChanged as changed:
        os.write(2, f"{COMPLAINT}{changed} changed in the meantime; run it again\n".encode("utf-8", "surrogateescape"))
        os._exit(NOT_CONFINED)
    except OSError as error:
        os.write(2, f"{COMPLAINT}{error}\n".encode("utf-8", "surrogateescape"))
        os._exit(NOT_CONFINED)
    if report != NO_REPORT:
        os.write(int(report), STANDING)
        os.close(int(report))
    if how == STAY:
        stay()
    for number in _TO_DEFAULT:
        _signal.signal(number, _SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode("utf-8", "surrogateescape"))
        os._exit(127)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
