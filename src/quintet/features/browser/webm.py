"""Writes WebM: a VP8 stream in a Matroska container, with an index to seek by. Times are in milliseconds."""

from __future__ import annotations

import struct
from typing import BinaryIO

from quintet import __version__

CLUSTER_MILLISECONDS = 5000
UNKNOWN = b"\x01\xff\xff\xff\xff\xff\xff\xff"  # a size that is written later
HEADER, SEGMENT, SEEK_HEAD, SEEK = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67", b"\x11\x4d\x9b\x74", b"\x4d\xbb"
INFO, TRACKS, CLUSTER, CUES = b"\x15\x49\xa9\x66", b"\x16\x54\xae\x6b", b"\x1f\x43\xb6\x75", b"\x1c\x53\xbb\x6b"


def element(id: bytes, body: bytes) -> bytes:
    return id + _size(len(body)) + body


def _size(number: int) -> bytes:
    return (number | 1 << 56).to_bytes(8, "big")


def _number(id: bytes, value: int) -> bytes:
    return element(id, value.to_bytes(8, "big"))


def _double(id: bytes, value: float) -> bytes:
    return element(id, struct.pack(">d", value))


class WebmWriter:
    """Frames in the order of their times; `close` writes what can be known only then."""

    def __init__(self, file: BinaryIO, width: int, height: int) -> None:
        self._file = file
        file.write(
            element(
                HEADER,
                b"".join(
                    (
                        _number(b"\x42\x86", 1),  # version
                        _number(b"\x42\xf7", 1),
                        _number(b"\x42\xf2", 4),
                        _number(b"\x42\xf3", 8),
                        element(b"\x42\x82", b"webm"),
                        _number(b"\x42\x87", 2),
                        _number(b"\x42\x85", 2),
                    )
                ),
            )
        )
        file.write(SEGMENT + UNKNOWN)
        self._start = file.tell()
        self._write_head(0, 0, 0)
        self._info = file.tell()
        self._write_info(0.0)
        self._tracks = file.tell()
        video = element(b"\xe0", _number(b"\xb0", width) + _number(b"\xba", height))
        entry = (
            _number(b"\xd7", 1),  # track number
            _number(b"\x73\xc5", 1),
            _number(b"\x9c", 0),  # no lacing
            _number(b"\x83", 1),  # a video
            element(b"\x86", b"V_VP8"),
            video,
        )
        file.write(element(TRACKS, element(b"\xae", b"".join(entry))))
        self._cues: list[tuple[int, int]] = []  # time and place of each cluster
        self._begun = 0  # the time of the cluster
        self._blocks: list[bytes] = []

    def add(self, at: int, key: bool, data: bytes) -> None:
        if self._blocks and ((at - self._begun >= CLUSTER_MILLISECONDS and key) or at - self._begun > 30_000):
            self._write_cluster()
        if not self._blocks:
            self._begun = at
        head = b"\x81" + (at - self._begun).to_bytes(2, "big", signed=True) + (b"\x80" if key else b"\x00")
        self._blocks.append(element(b"\xa3", head + data))

    def close(self, milliseconds: int) -> None:
        self._write_cluster()
        cues = self._file.tell()
        points = [
            element(b"\xbb", _number(b"\xb3", at) + element(b"\xb7", _number(b"\xf7", 1) + _number(b"\xf1", where)))
            for at, where in self._cues
        ]
        self._file.write(element(CUES, b"".join(points)))
        end = self._file.tell()
        self._file.seek(self._start - 8)
        self._file.write(_size(end - self._start))
        self._write_head(self._info - self._start, self._tracks - self._start, cues - self._start)
        self._write_info(float(milliseconds))
        self._file.seek(end)

    def _write_cluster(self) -> None:
        if self._blocks:
            self._cues.append((self._begun, self._file.tell() - self._start))
            self._file.write(element(CLUSTER, _number(b"\xe7", self._begun) + b"".join(self._blocks)))
            self._blocks = []

    def _write_head(self, info: int, tracks: int, cues: int) -> None:
        """Where things are; always of the same size, so that it can be written again."""
        seeks = [
            element(SEEK, element(b"\x53\xab", id) + _number(b"\x53\xac", where))
            for id, where in ((INFO, info), (TRACKS, tracks), (CUES, cues))
        ]
        self._file.write(element(SEEK_HEAD, b"".join(seeks)))

    def _write_info(self, milliseconds: float) -> None:
        name = f"quintet {__version__}".encode()
        parts = (
            _number(b"\x2a\xd7\xb1", 1_000_000),  # nanoseconds in a tick
            _double(b"\x44\x89", milliseconds),
            element(b"\x4d\x80", name),
            element(b"\x57\x41", name),
        )
        self._file.write(element(INFO, b"".join(parts)))
