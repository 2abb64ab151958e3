"""A network of its own for a sandbox, by a program in user space (pasta, slirp4netns): not this machine's loopback.

Run as a script it becomes bubblewrap, beside a helper that attaches the network to the sandbox's namespace once
inside.py is there, and ends with bubblewrap. If none of the programs can, inside.py hears it and runs nothing.

Usage: user_network.py AT PROGRAM[:PROGRAM] BWRAP …: word AT of these becomes the handle by which inside.py asks.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys

HERE, UP = b"here", b"up"  # as in inside.py
NAME_SERVER = "10.0.2.3"  # inside: slirp4netns' usual one, and pasta is told; either asks this machine's
SECONDS = 10.0  # for one program to attach
_LOOK_AGAIN_MILLISECONDS = 2
_NS_GET_USERNS = 0xB701
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


def attached(program: str, process: int) -> int:
    """The program's process once the network is up; 0 if it could not."""
    net = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    owner = fcntl.ioctl(net, _NS_GET_USERNS)  # with --disable-userns another one than the sandbox's own
    helper = os.getpid()
    command = os.fork()
    if not command:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # pasta takes it for a fault if somebody set it before
        os.execve(program, words(program, process, f"/proc/{helper}/fd/{owner}"), {})
    over = os.pidfd_open(command)
    poll = select.poll()
    poll.register(over, select.POLLIN)
    for _ in range(int(SECONDS * 1000 / _LOOK_AGAIN_MILLISECONDS)):
        if poll.poll(_LOOK_AGAIN_MILLISECONDS):
            os.waitpid(command, 0)
            return 0
        if has_a_route(str(process)):
            os.close(net)
            os.close(owner)
            return command
    os.kill(command, signal.SIGKILL)
    os.waitpid(command, 0)
    return 0


def help_from_outside(line: int, told: int, programs: list[str], sandbox: int) -> None:
    """Attach the network when inside.py asks, and keep it as long as bubblewrap lives."""
    if os.geteuid() == 0:
        _without_rights()
    process = _child(told)
    if os.read(line, len(HERE)) != HERE:
        return
    network = next((command for program in programs if (command := attached(program, process))), 0)
    if not network:
        return
    os.write(line, UP)
    os.close(line)
    poll = select.poll()
    for handle in (sandbox, os.pidfd_open(network)):
        poll.register(handle, select.POLLIN)
    poll.poll()
    os.kill(network, signal.SIGKILL)


def _without_rights() -> None:
    """As root the programs give rights up first, and may then not look into a process that has more."""
    import ctypes

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
