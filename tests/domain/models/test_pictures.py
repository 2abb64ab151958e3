"""Pictures in words: their sizes from their own heads, and a sentence in the place of each."""

from __future__ import annotations

from base64 import b64encode
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.models.pictures import in_words, size_of
from quintet.domain.turn.messages import Image, Message, Role

PNG = b"\x89PNG\r\n\x1a\n" + pack(">I4sIIBBBBB", 13, b"IHDR", 640, 480, 8, 2, 0, 0, 0)
GIF = b"GIF89a" + pack("<HH", 320, 200) + bytes(3)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(9) + b"\xff\xc2\x00\x11\x08" + pack(">HH", 480, 640) + bytes(12)
WEBP_X = b"RIFF" + bytes(4) + b"WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
WEBP_L = b"RIFF" + bytes(4) + b"WEBPVP8L" + bytes(4) + b"\x2f" + (639 | 479 << 14).to_bytes(4, "little") + bytes(8)
WEBP = b"RIFF" + bytes(4) + b"WEBPVP8 " + bytes(10) + pack("<HH", 640, 480) + bytes(4)


def image(data: bytes, kind: str = "image/png") -> Image:
    return Image(kind, b64encode(data).decode())


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (PNG, (640, 480)),
        (GIF, (320, 200)),
        (JPEG, (640, 480)),
        (WEBP_X, (640, 480)),
        (WEBP_L, (640, 480)),
        (WEBP, (640, 480)),
        (b"", None),
        (b"\xff\xd8\xff\xe0\x00\x00", None),
        (PNG[:20], None),
        (b"nothing of the kind", None),
    ],
)
def test_a_picture_says_its_size(data: bytes, size: tuple[int, int] | None) -> None:
    assert size_of(image(data)) == size


@given(st.binary(max_size=80), st.sampled_from([b"", PNG[:8], GIF[:6], b"\xff\xd8", WEBP[:16]]))
def test_no_bytes_are_too_odd(data: bytes, head: bytes) -> None:
    size_of(image(head + data))
    size_of(Image("image/png", data.decode("latin-1")))


def test_each_picture_becomes_a_sentence() -> None:
    message = Message(Role.USER, "look", images=(image(PNG), image(b"?", "image/webp"), image(GIF, "image/gif")))
    assert in_words(message, "blind-1") == Message(
        Role.USER,
        "look\n"
        "[a picture, 640×480 PNG, left out: blind-1 cannot see pictures]\n"
        "[a picture, WebP, left out: blind-1 cannot see pictures]\n"
        "[a picture, 320×200 GIF, left out: blind-1 cannot see pictures]",
    )
    plain = Message(Role.USER, "look")
    assert in_words(plain, "blind-1") is plain
