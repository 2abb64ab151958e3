"""Pictures for a model that cannot see them: a sentence in the place of each, the same on every wire."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error

from msgspec import structs

from quintet.domain.turn.messages import Image, Message

HEAD = 65_536  # characters of base64 that are looked at: a JPEG says its size after its other segments
_NAMES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # the segments of a JPEG that say its size


def in_words(message: Message, model: str) -> Message:
    """The message without its pictures, each named in a sentence."""
    if not message.images:
        return message
    left_out = [f"[a picture, {_told(image)}, left out: {model} cannot see pictures]" for image in message.images]
    return structs.replace(message, text="\n".join([message.text, *left_out] if message.text else left_out), images=())


def _told(image: Image) -> str:
    kind = _NAMES.get(image.media_type, image.media_type.removeprefix("image/"))
    size = size_of(image)
    return f"{size[0]}×{size[1]} {kind}" if size else kind


def size_of(image: Image) -> tuple[int, int] | None:
    """Width and height, as the picture's own head says; None where it does not."""
    try:
        data = b64decode(image.data[:HEAD])
    except (Error, ValueError):
        return None
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data[:4] == b"GIF8" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _of_webp(data)
    return _of_jpeg(data) if data[:2] == b"\xff\xd8" else None


def _of_webp(data: bytes) -> tuple[int, int] | None:
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if data[12:16] == b"VP8 ":
        width, height = int.from_bytes(data[26:28], "little"), int.from_bytes(data[28:30], "little")
        return width & 0x3FFF, height & 0x3FFF
    return None


def _of_jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] in _FRAMES:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
