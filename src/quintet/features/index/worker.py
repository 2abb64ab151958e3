"""A process that reads files for the one that builds the index: usage worker ROOT, with requests on stdin.

A request is a list of (path, digest), its answer an Extract for each; both as MessagePack after their length. It ends
when its stdin does, so it does not outlive who asks; a grammar that crashes takes only this process with it.
"""

from __future__ import annotations

import gc
import resource
import sys
from typing import IO

import msgspec

from quintet.features.index.extract import Extractor

MEMORY = 3_000_000_000
Asked = list[tuple[str, bytes]]
_decoder = msgspec.msgpack.Decoder(Asked)
_encoder = msgspec.msgpack.Encoder()


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()  # what is made of a file has no cycles, and is much
    extractor = Extractor(sys.argv[1])
    while (asked := read_frame(sys.stdin.buffer)) is not None:
        made = [extractor.extract(path, digest) for path, digest in _decoder.decode(asked)]
        write_frame(sys.stdout.buffer, _encoder.encode(made))


def read_frame(source: IO[bytes]) -> bytes | None:
    """None at the end."""
    head = source.read(4)
    if len(head) < 4:
        return None
    size = int.from_bytes(head, "big")
    body = source.read(size)
    return body if len(body) == size else None


def write_frame(sink: IO[bytes], body: bytes) -> None:
    sink.write(len(body).to_bytes(4, "big") + body)
    sink.flush()


if __name__ == "__main__":
    main()
