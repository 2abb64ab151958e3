"""The seccomp filter of both containments: what no command needs, and what could get out, is refused.

A BPF program, built for the machine it runs on. What it does not name is allowed. Another architecture's calls, which
have other numbers, end the program that makes them; the x32 numbering is refused.
Tracing is not refused: a command sees, and by Landlock may trace, only processes of its own sandbox.
"""

from __future__ import annotations

import platform
import struct
from functools import cache

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _EACCES, _ENOSYS = 1, 13, 38
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # places in seccomp_data
_X32 = 0x40000000
_NAMESPACES = 0x7E020000  # CLONE_NEW…, without the one for time, whose bit is a signal's in clone(2)
_NEW_TIME = 0x80
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # type into a terminal
_SET_FLAGS = (0x40086602, 0x401C5820)  # of a file, by ioctl
_AF_UNIX, _AF_NETLINK = 1, 16  # the latter asks the kernel about interfaces, and leads nowhere
_INTERNET = (2, 10)  # IPv4, IPv6: no other family keeps to the sandbox's own network (vsock reaches this machine)
_LITTLE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# What is refused to every command, with its number on x86_64 and aarch64; 0 where there is none.
_REFUSED = {
    "add_key": (248, 217),  # the kernel's keyrings hold keys of the user's
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),  # calls made by it are not filtered
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "pidfd_getfd": (438, 438),  # takes descriptors out of other processes
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),  # a file by its number, past every folder
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "iopl": (172, 0),
    "ioperm": (173, 0),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "uselib": (134, 0),
}
# What changes a file without opening it to be written: Landlock has no right for that.
_ATTRIBUTES = {
    "chmod": (90, 0),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, 0),
    "fchown": (93, 55),
    "lchown": (94, 0),
    "fchownat": (260, 54),
    "utime": (132, 0),
    "utimes": (235, 0),
    "futimesat": (261, 0),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
_CLONE, _CLONE3, _UNSHARE, _SOCKET, _IOCTL = (56, 220), (435, 435), (272, 97), (41, 198), (16, 29)

Line = tuple[int, int, int, int]


def possible() -> bool:
    """Whether a filter can be built for this kind of machine."""
    return platform.machine() in _LITTLE


@cache
def program(*, network: bool, local: bool = True, attributes: bool = True) -> bytes:
    """The filter, ready for the kernel. `local`: whether local sockets may be made; a pair of them always may.

    `attributes`: whether modes, owners, times and the like of files may be changed.
    """
    machine = platform.machine()
    at = tuple(_LITTLE).index(machine)
    lines: list[Line] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _LITTLE[machine]),
        (_GIVE, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        _refuse(_EPERM),
    ]
    for numbers in (*_REFUSED.values(), *(() if attributes else _ATTRIBUTES.values())):
        lines += _when(numbers[at], [_refuse(_EPERM)])
    lines += _when(_CLONE3[at], [_refuse(_ENOSYS)])  # its flags lie in memory; the C library then uses clone
    lines += _when(_CLONE[at], _unless_any(_FIRST, _NAMESPACES))
    lines += _when(_UNSHARE[at], _unless_any(_FIRST, _NAMESPACES | _NEW_TIME))
    lines += _when(_IOCTL[at], _none_of(_SECOND, (_TIOCSTI, _TIOCLINUX, *(() if attributes else _SET_FLAGS))))
    families = (*((_AF_UNIX,) if local else ()), _AF_NETLINK, *(_INTERNET if network else ()))
    lines += _when(_SOCKET[at], _one_of(_FIRST, families))
    lines.append((_GIVE, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def _refuse(number: int) -> Line:
    return (_GIVE, 0, 0, _ERRNO | number)


def _when(number: int, then: list[Line]) -> list[Line]:
    """What is done about one call; `then` decides in any case. A call that this machine does not have needs nothing."""
    return [(_EQUAL, 0, len(then), number), *then] if number else []


def _unless_any(place: int, bits: int) -> list[Line]:
    return [(_LOAD, 0, 0, place), (_ANY_BIT, 0, 1, bits), _refuse(_EPERM), (_GIVE, 0, 0, _ALLOW)]


def _none_of(place: int, values: tuple[int, ...]) -> list[Line]:
    tests = [(_EQUAL, len(values) - 1 - at, int(at == len(values) - 1), value) for at, value in enumerate(values)]
    return [(_LOAD, 0, 0, place), *tests, _refuse(_EPERM), (_GIVE, 0, 0, _ALLOW)]


def _one_of(place: int, values: tuple[int, ...]) -> list[Line]:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [(_LOAD, 0, 0, place), *tests, _refuse(_EACCES), (_GIVE, 0, 0, _ALLOW)]
