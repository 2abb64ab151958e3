"""Time and identifiers from the operating system."""

from __future__ import annotations

import os
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SystemClock:
    def now(self) -> str:
        whole, nanos = divmod(time.time_ns(), 1_000_000_000)
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{nanos // 1_000_000:03d}Z"

    def epoch(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        from asyncio import sleep

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
