"""A network of its own for a sandbox, by a program in user space (pasta, slirp4netns): not this machine's loopback.

Run as a script it becomes bubblewrap, beside a helper that attaches the network to the sandbox's namespace once
sandbox_init.py is there, and ends with bubblewrap. If none of the programs can, sandbox_init.py is told so, and runs
nothing.

The programs keep a sandbox from this machine's loopback only as long as it routes as usual. So every address of this
machine, its loopback too, is made one of the sandbox's own there, on the very interface that leads out: a packet to it
comes back inside, even from a socket that names the interface. Addresses that this machine gets later follow.

Usage: user_network.py AT PROGRAM[:PROGRAM] BWRAP …: word AT of these becomes the handle by which sandbox_init.py asks.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys

HERE, UP = b"here", b"up"  # as in sandbox_init.py
NAME_SERVER = "10.0.2.3"  # inside: the default of slirp4netns, an option of pasta; forwards to this machine's
SECONDS = 10.0  # for one program to attach
_LOOK_AGAIN_MILLISECONDS = 2
_NS_GET_USERNS = 0xB701
_NEW_ROUTE, _GET_ROUTE, _REFUSAL, _DONE = 24, 26, 2, 3  # messages of rtnetlink
_REQUEST, _ACKNOWLEDGE, _DUMP, _CREATE, _APPEND = 1, 4, 0x300, 0x400, 0x800
_TO, _BY = 1, 4  # attributes of a route: where it leads, and by which interface
_LOCAL_TABLE, _STATIC, _ON_THIS_HOST = 255, 4, 254
_LOCAL, _OURS = 2, (2, 3, 4)  # kinds of a route: local; local, broadcast or anycast
_CHANGES = 0x10 | 0x40 | 0x100 | 0x400  # groups: addresses and routes, IPv4 and IPv6; a route may follow its address
_AS_GOOD = (0, errno.EEXIST, errno.ENETDOWN)  # what is down, as tunnels that kernels make, leads nowhere
_NO_IPV6 = (errno.EACCES, errno.ENODEV, errno.EOPNOTSUPP, errno.EAFNOSUPPORT)
_HEADER, _ROUTE = struct.Struct("=IHHII"), struct.Struct("=8BI")
Address = tuple[int, int, bytes]  # family, how many bits of it count, the address
_GROUPS = (int(socket.AF_INET), 4, bytes((224, 0, 0, 0)))  # multicast: pasta's comes back to this machine
_DEFAULT_ROUTES = (("route", 1, "00000000"), ("ipv6_route", 0, "0" * 32))  # file, column, what stands there


def words(program: str, process: int, owner: str) -> list[str]:
    """How a program is run: nothing is forwarded either way, and this machine's loopback cannot be reached."""
    net, root = f"/proc/{process}/ns/net", os.geteuid() == 0
    if os.path.basename(program) == "pasta":
        closed = ["--no-map-gw", "-t", "none", "-u", "none", "-T", "none", "-U", "none"]
        spaces = ["--userns", owner, "--netns", net]
        dns = ["--dns-forward", NAME_SERVER]
        return [program, "-q", "-f", "--config-net", *closed, *dns, *(["--runas", "0:0"] if root else []), *spaces]
    closed = ["--disable-host-loopback", "--enable-seccomp", *(["--enable-sandbox"] if root else [])]
    return [program, "-c", "--mtu=65520", *closed, "--netns-type=path", f"--userns-path={owner}", net, "tap0"]


def has_a_route(process: str) -> bool:
    """Whether packets from the process's namespace have a way out."""
    for name, column, nowhere in _DEFAULT_ROUTES:
        try:
            with open(f"/proc/{process}/net/{name}", encoding="ascii") as file:
                lines = [line.split() for line in file]
        except OSError:
            continue
        if any(line[column] == nowhere and line[-1] != "lo" for line in lines):
            return True
    return False


def attached(program: str, process: int) -> Network | None:
    """The network once it is up and no address of this machine leads out of it; None if it could not."""
    net = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    owner = fcntl.ioctl(net, _NS_GET_USERNS)  # with --disable-userns another one than the sandbox's own
    helper = os.getpid()
    command = os.fork()
    if not command:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # pasta takes it for a fault if somebody set it before
        os.execve(program, words(program, process, f"/proc/{helper}/fd/{owner}"), {})
    network = Network(os.pidfd_open(command), owner, net)
    poll = select.poll()
    poll.register(network.command, select.POLLIN)
    for _ in range(int(SECONDS * 1000 / _LOOK_AGAIN_MILLISECONDS)):
        if poll.poll(_LOOK_AGAIN_MILLISECONDS):
            break
        if has_a_route(str(process)):
            if network.closed_to(this_machine()):
                return network
            break
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(network.command, signal.SIGKILL)
    os.waitpid(command, 0)
    return None


class Network:
    """An attached network: the program that carries it, as a handle, and the namespaces to get to it."""

    def __init__(self, command: int, owner: int, net: int) -> None:
        self.command = command
        self._spaces = (owner, net)
        self._closed: set[Address] = set()
        import ctypes  # while the program starts

        self._libc = ctypes.CDLL(None)

    def closed_to(self, addresses: set[Address]) -> bool:
        """Whether none of these addresses leads out of the sandbox from now on."""
        new = addresses - self._closed
        if not new:
            return True
        child = os.fork()
        if not child:
            try:
                os._exit(0 if all(self._libc.setns(space, 0) == 0 for space in self._spaces) and _take(new) else 1)
            finally:
                os._exit(1)
        done = os.waitpid(child, 0)[1] == 0
        self._closed |= new if done else set()
        return done


def _take(addresses: set[Address]) -> bool:
    """Make addresses this namespace's own, on each interface that leads out of it."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        for index, name in socket.if_nameindex():
            for family, bits, address in addresses if name != "lo" else ():
                kind = (family, bits, 0, 0, _LOCAL_TABLE, _STATIC, _ON_THIS_HOST, _LOCAL, 0)
                route = _ROUTE.pack(*kind) + _attribute(_TO, address) + _attribute(_BY, struct.pack("=i", index))
                flags = _REQUEST | _ACKNOWLEDGE | _CREATE | _APPEND
                kernel.send(_HEADER.pack(_HEADER.size + len(route), _NEW_ROUTE, flags, 1, 0) + route)
                number = -struct.unpack_from("=i", kernel.recv(65536), _HEADER.size)[0]
                without = family == socket.AF_INET6 and number in _NO_IPV6
                if number not in _AS_GOOD and not without:
                    return False
    return True


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value  # all of them are whole fours


def this_machine() -> set[Address]:
    """All that leads to this machine itself, as its kernel routes: loopback, interfaces, whole ranges; and groups."""
    found = {_GROUPS}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        for family in (socket.AF_INET, socket.AF_INET6):
            asked = _ROUTE.pack(family, *bytes(8))
            kernel.send(_HEADER.pack(_HEADER.size + len(asked), _GET_ROUTE, _REQUEST | _DUMP, 1, 0) + asked)
            while _read(kernel.recv(1 << 18), found):
                pass
    return found


def _read(answer: bytes, found: set[Address]) -> bool:
    """Take the routes to this machine out of a part of an answer; whether there is more to come."""
    at = 0
    while at < len(answer):
        size, kind = _HEADER.unpack_from(answer, at)[:2]
        if kind in (_DONE, _REFUSAL):
            return False
        family, bits, _, _, _, _, _, leads, _ = _ROUTE.unpack_from(answer, at + _HEADER.size)
        inside = at + _HEADER.size + _ROUTE.size
        while leads in _OURS and inside < at + size:
            length, name = struct.unpack_from("=HH", answer, inside)
            if name == _TO:
                found.add((family, bits, answer[inside + 4 : inside + length]))
            inside += (length + 3) & ~3
        at += (size + 3) & ~3
    return True


def help_from_outside(line: int, told: int, programs: list[str], sandbox: int) -> None:
    """Attach the network when sandbox_init.py asks, and keep it as long as bubblewrap lives."""
    if os.geteuid() == 0:
        _without_rights()
    process = _child(told)
    if os.read(line, len(HERE)) != HERE:
        return
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as changes:
        changes.bind((0, _CHANGES))  # before the first look
        network = next((one for program in programs if (one := attached(program, process))), None)
        if not network:
            return
        os.write(line, UP)
        os.close(line)
        _mind(network, sandbox, changes)
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(network.command, signal.SIGKILL)


def _mind(network: Network, sandbox: int, changes: socket.socket) -> None:
    """Until either is over, or this machine has a new address that cannot be kept out."""
    poll = select.poll()
    for handle in (sandbox, network.command, changes.fileno()):
        poll.register(handle, select.POLLIN)
    while not {sandbox, network.command} & {handle for handle, _ in poll.poll()}:
        with contextlib.suppress(OSError):  # too many at once: they are all looked at below
            changes.recv(65536)
        if not network.closed_to(this_machine()):
            return


def _without_rights() -> None:
    """As root the programs give rights up first, and may then not look into a process that has more."""
    import ctypes  # bubblewrap starts meanwhile

    ctypes.CDLL(None).capset(struct.pack("Ii", 0x20080522, 0), bytes(24))


def _child(handle: int) -> int:
    """The sandbox's first process, as bubblewrap tells it."""
    said = b""
    while part := os.read(handle, 4096):
        said += part
        if b"}" in part:
            break
    return int(json.loads(said)["child-pid"])


def main(at: int, programs: list[str], argv: list[str]) -> None:
    ours, theirs = socket.socketpair()
    told, tell = os.pipe()
    sandbox = os.pidfd_open(os.getpid())
    if not os.fork():
        nowhere = os.open(os.devnull, os.O_RDWR)
        kept = (ours.fileno(), told, sandbox)
        highest = max(kept) + 1
        for handle in range(3):  # nothing of the command's is held open here
            os.dup2(nowhere, handle)
        for handle in range(3, highest):
            if handle not in kept:
                _close(handle)
        os.closerange(highest, os.sysconf("SC_OPEN_MAX"))
        try:
            help_from_outside(*kept[:2], programs, sandbox)
        finally:
            os._exit(0)
    for handle in (theirs.fileno(), tell):
        os.set_inheritable(handle, True)
    argv[at] = str(theirs.fileno())
    os.execv(argv[0], [argv[0], "--info-fd", str(tell), *argv[1:]])


def _close(handle: int) -> None:
    with contextlib.suppress(OSError):
        os.close(handle)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2].split(":"), sys.argv[3:])
