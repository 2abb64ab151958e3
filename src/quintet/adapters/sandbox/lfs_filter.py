"""The clean filter of git-lfs, for looking only: of a file's content it makes the pointer that git-lfs would store.

git-lfs itself keeps the content below .git as it does so, which a command that only reads cannot. Run as a script of
its own by git, which speaks its filter protocol over pipes; it imports nothing of Quintet's and writes no file.
"""

from __future__ import annotations

import sys
from hashlib import sha256

POINTER = b"version https://git-lfs.github.com/spec/v1\n"
MOST = 65_516  # bytes of one packet


def packet() -> bytes | None:
    """The next packet; None for a flush. The end of the input ends the program."""
    head = sys.stdin.buffer.read(4)
    if len(head) < 4:
        sys.exit(0)
    length = int(head, 16)
    return sys.stdin.buffer.read(length - 4) if length else None


def packets() -> list[bytes]:
    found = []
    while (one := packet()) is not None:
        found.append(one)
    return found


def send(*lines: bytes) -> None:
    for line in lines:
        for at in range(0, len(line), MOST):
            part = line[at : at + MOST]
            sys.stdout.buffer.write(b"%04x%b" % (len(part) + 4, part))
    sys.stdout.buffer.write(b"0000")


def cleaned() -> bytes:
    """The pointer of the content that comes; of a pointer itself."""
    digest, size, first = sha256(), 0, b""
    while (part := packet()) is not None:
        digest.update(part)
        size += len(part)
        first = (first + part)[:1024] if size <= 1024 else first
    if first.startswith(POINTER) and size <= 1024:
        return first
    return b"%boid sha256:%b\nsize %d\n" % (POINTER, digest.hexdigest().encode(), size) if size else b""


def main() -> None:
    packets()  # git-filter-client, version=2
    send(b"git-filter-server\n", b"version=2\n")
    sys.stdout.buffer.flush()
    packets()
    send(b"capability=clean\n")
    sys.stdout.buffer.flush()
    while True:
        packets()  # command=clean, pathname=…
        pointer = cleaned()
        send(b"status=success\n")
        send(pointer) if pointer else send()
        send()
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
