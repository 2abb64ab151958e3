"""The operating system: time, identifiers, and what /proc knows of other processes."""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SystemClock:
    def now(self) -> str:
        whole, nanos = divmod(time.time_ns(), 1_000_000_000)
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{nanos // 1_000_000:03d}Z"

    def epoch(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def uptime(self) -> float:
        return time.monotonic()  # the same in every process of a Linux machine

    async def sleep(self, seconds: float) -> None:
        from asyncio import sleep  # commands that only look things up have no event loop

        await sleep(seconds)


class RandomIds:
    """Short ids that sort by time: nine characters of milliseconds, seven of chance."""

    def new(self, kind: str) -> str:
        stamp = _base32(time.time_ns() // 1_000_000, 9)
        chance = _base32(int.from_bytes(os.urandom(5)), 7)
        return f"{kind}-{stamp}{chance}"


def _base32(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, rest = divmod(number, 32)
        digits.append(_ALPHABET[rest])
    return "".join(reversed(digits))


def process_start(pid: int) -> str:
    """When a process began, as the system counts it, so that a reused id is not taken for it; empty if it is gone."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] != "Z" else ""


def started_at(pid: int) -> float:
    """When a process began, in seconds since the epoch, to a second or so; 0 if it is gone or nobody knows."""
    with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
        with open("/proc/stat", encoding="ascii") as file:
            booted = next(int(line.split()[1]) for line in file if line.startswith("btime"))
        return booted + int(_stat(pid)[19]) / os.sysconf("SC_CLK_TCK")
    return 0.0


def process_identity(pid: int) -> str:
    """What tells a process from every other: the machine's start, its process namespace, its own start."""
    start = process_start(pid)
    return f"{_here()}/{start}" if start else ""


@cache
def _here() -> str:
    boot = space = ""
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    return f"{boot}/{space}"


def is_busy(pid: int) -> bool:
    """Whether a process is working, and not asleep until an event wakes it."""
    fields = _stat(pid)
    return not fields or fields[0] != "S"


def descendants(pid: int) -> list[tuple[int, str]]:
    """Children, and children of children, each with its start time."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and (fields := _stat(int(name))):
                children.setdefault(int(fields[1]), []).append(int(name))
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(), ()):
            found.append((child, process_start(child)))
            queue.append(child)
    return found


def _stat(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
