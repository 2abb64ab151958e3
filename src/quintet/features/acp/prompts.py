"""What a client sends as a prompt, as words for the session: text, files that it names or sends along, pictures.

A file of the project is named with `@`, so that a tool reads it; what the editor sends of it, and every other text,
comes along as somebody else's words. A picture becomes a file of the session's own.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import unquote, urlsplit

from acp.schema import (
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)
from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.files.private_files import private, private_folder
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.input.slash_line import command_name, own_call
from quintet.domain.permission.protected_paths import inside
from quintet.features.acp.calls import fenced

MOST_PICTURE = 8_000_000  # bytes
PICTURES = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"RIFF": ".webp"}


class SentPrompt(Struct, frozen=True):
    text: str
    quoted: str = ""  # what came along
    pictures: tuple[str, ...] = ()  # their files


def read(blocks: Sequence[Any], places: Places) -> SentPrompt:
    """Raises UsageError for what cannot be taken."""
    words: list[str] = []
    quoted: list[str] = []
    pictures: list[str] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                words.append(text)
            case ResourceContentBlock(uri=uri, name=name):
                words.append(_named(uri, name, places.root))
            case EmbeddedResourceContentBlock(resource=BlobResourceContents(blob=blob, uri=uri)):
                pictures.append(_kept(blob, places, uri))
            case EmbeddedResourceContentBlock(resource=resource):
                words.append(_named(resource.uri, "", places.root))
                quoted.append(_attached(resource.uri, resource.text, places.root))
            case ImageContentBlock(data=data):
                pictures.append(_kept(data, places, block.uri or "the picture"))
            case _:
                raise UsageError(f"a prompt cannot contain {getattr(block, 'type', type(block).__name__)}")
    text = _joined(words, pictures)
    if not text.strip():
        raise UsageError("the prompt is empty")
    alone = command_name(text) is not None or own_call(text) is not None
    return SentPrompt(text, "" if alone else "\n\n".join(quoted), tuple(pictures))


def _joined(words: Sequence[str], pictures: Sequence[str]) -> str:
    """As it was written, with a space where two pieces would run together."""
    text = ""
    for word in (*words, *pictures):
        text += (" " if text and not text[-1:].isspace() and not word[:1].isspace() else "") + word
    return text


def _named(uri: str, name: str, root: str) -> str:
    """A resource as a person would mention it: never the beginning of a command or of a shell line."""
    path = _path(uri)
    if not path:
        web = urlsplit(uri).scheme in ("http", "https")
        return f"`{on_one_line(f'{name} ({uri})' if name and not web else uri)}`"
    within = inside(path, root)
    return f"@{on_one_line(within)}" if within else f"`{on_one_line(path)}`"


def _path(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return os.path.normpath(unquote(parts.path))
    return os.path.normpath(uri) if not parts.scheme and uri.startswith("/") else ""


def _attached(uri: str, text: str, root: str) -> str:
    name = _named(uri, "", root).removeprefix("@").strip("`")
    return f"From {name}, as the editor sends it:\n\n{fenced(text, language='')}"


def _kept(data: str, places: Places, name: str) -> str:
    try:
        found = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"{on_one_line(name)}: not base64") from None
    ending = next((ending for head, ending in PICTURES.items() if found.startswith(head)), "")
    if not ending:
        raise UsageError(f"{on_one_line(name)}: only PNG, JPEG, GIF and WebP pictures can be added")
    if len(found) > MOST_PICTURE:
        raise UsageError(f"{on_one_line(name)}: {len(found) / 1e6:.1f} MB; the limit for a picture is 8 MB")
    folder = os.path.join(places.outputs, "uploads")
    private_folder(folder)
    path = os.path.join(folder, sha256(found).hexdigest()[:16] + ending)
    with open(path, "wb", opener=private) as file:
        file.write(found)
    return path
