"""Images that tools come back with: kept in files by their digests, from where requests take them."""

from __future__ import annotations

import hashlib
import os

from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.messages import KeptImage

IMAGE_BYTES = 5_000_000  # the most that model servers take of one
FOLDER = "images"  # in the folder of outputs
SHOWN = "PNG, JPEG, GIF and WebP"
_OTHERS = {b"BM": "BMP", b"II*\0": "TIFF", b"MM\0*": "TIFF", b"\0\0\1\0": "icon", b"8BPS": "Photoshop"}


def media_type(data: bytes) -> str:
    """What kind of image it is by its first bytes, whatever its name says; empty for none that models look at."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def other_image(data: bytes) -> str:
    """The name of a kind of image that no model looks at; empty for what is none."""
    if data[4:12] in (b"ftypheic", b"ftypheix", b"ftypavif", b"ftypmif1"):
        return "HEIF or AVIF"
    return next((kind for sign, kind in _OTHERS.items() if data.startswith(sign)), "")


def holds_secret(bench: Workbench, data: bytes) -> bool:
    """Whether a known secret stands among the bytes: nothing can be starred in an image."""
    text = data.decode("latin-1")
    return bench.secrets is not None and bench.secrets.text(text) != text


def kept_image(bench: Workbench, data: bytes) -> KeptImage | None:
    """Keep an image for the model to look at; None for what is none, too large, or holds a known secret."""
    kind = media_type(data)
    if not kind or len(data) > IMAGE_BYTES or holds_secret(bench, data):
        return None
    digest = hashlib.sha256(data).hexdigest()
    folder = os.path.join(bench.outputs, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    place = os.path.join(folder, digest)
    if not os.path.exists(place):
        partly = f"{place}.{os.getpid()}"
        with open(os.open(partly, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
        os.replace(partly, place)
    return KeptImage(kind, digest, len(data))
