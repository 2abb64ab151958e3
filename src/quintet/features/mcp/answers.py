"""What a server answered, as a model reads it: text, data as files, and structured content where that says more."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import os
import time
from collections.abc import Iterator
from typing import Any

from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import counted
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.messages import KeptImage
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.features.mcp.values import McpAnswer, McpPart
from quintet.tools.files import kept
from quintet.tools.images import kept_image

MOST_CHARACTERS = 30_000
MOST_FILES = 20  # that one answer may leave
MOST_IMAGES = 4  # of those, that the model is shown
LONG_DATA = 500  # characters of base64 in structured content that are not shown
KINDS = frozenset({"text", "image", "audio", "resource", "resource_link"})  # of content, as the protocol names them
_BASE64 = regex(r"[A-Za-z0-9+/_-]+={0,2}")


def answered(bench: Workbench, server: str, answer: McpAnswer) -> ToolResult:
    pieces, files = [], 0
    images: list[KeptImage] = []
    for part in answer.parts:
        if part.data:
            files += 1
            if len(images) < MOST_IMAGES and (image := kept_image(bench, part.data)):
                images.append(image)
            pieces.append(_file(bench, server, part, files) if files <= MOST_FILES else "(one more file, not saved)")
        elif part.uri:
            pieces.append(f"[{part.uri}{f' {part.mime}' if part.mime else ''}]\n{part.text}".rstrip())
        else:
            pieces.append(part.text)
    if answer.structured is not None and not _says(answer.parts, answer.structured):
        pieces.append(json.dumps(_without_data(answer.structured), indent=2, ensure_ascii=False))
    pieces += [f"({note})" for note in answer.notes]
    text = "\n".join(pieces) or "(nothing)"
    if len(text) > MOST_CHARACTERS:
        whole = kept(bench, f"{time.time_ns()}-{server}.txt", text)
        half = MOST_CHARACTERS // 2
        text = (
            f"{text[:half]}\n… {len(text) - 2 * half} characters omitted; the full text is in {whole} …\n{text[-half:]}"
        )
    status = CallStatus.ERROR if answer.failed else CallStatus.OK
    summary = "failed" if answer.failed else counted(len(text.splitlines()), "line")
    left = f", {counted(files, 'file')}" if files else ""
    return ToolResult(text, status, summary=summary + left, images=tuple(images), consulted=answer.consulted)


def _says(parts: tuple[McpPart, ...], structured: Any) -> bool:
    """Whether the parts say the same: servers give both, for clients that know only one."""
    for part in parts:
        try:
            said = wire_json.decode(part.text)
        except ValueError:  # no JSON, or nested without an end
            said = part.text
        if structured in (said, part.text, {"result": said}, {"result": part.text}):
            return True
    return bool(parts) and _repeats(parts, structured)


def _repeats(parts: tuple[McpPart, ...], structured: Any) -> bool:
    """Whether each value in it stands in a text, or is the data, kind or address of a part."""
    texts = "\n".join(part.text for part in parts)
    known = KINDS | {word for part in parts for word in (part.mime, part.uri) if word}
    data = {part.data for part in parts if part.data}
    if not data and not texts:
        return False
    return all(_stands(value, texts, known, data) for value in _leaves(structured))


def _stands(value: Any, texts: str, known: frozenset[str], data: set[bytes]) -> bool:
    if not isinstance(value, str):
        return False  # a number found in a text may be any number
    return value in known or (len(value) > 2 and value in texts) or (bool(data) and _decoded(value) in data)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _without_data(value: Any) -> Any:
    """Structured content without what is only bytes in letters."""
    if isinstance(value, dict):
        return {name: _without_data(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_data(one) for one in value]
    if isinstance(value, str) and len(value) > LONG_DATA and _BASE64.fullmatch(value):
        return f"({len(value)} characters of base64, omitted)"
    return value


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _file(bench: Workbench, server: str, part: McpPart, number: int) -> str:
    """The data of a part kept in a file, and where."""
    ending = mimetypes.guess_extension(part.mime.partition(";")[0].strip()) or ".bin"
    os.makedirs(bench.outputs, mode=0o700, exist_ok=True)
    path = f"{bench.outputs}/{time.time_ns()}-{server}-{number}{ending}"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(part.data)
    about = " ".join(filter(None, (part.mime, part.uri, f"{len(part.data)} bytes")))
    return f"[{about}: {path}]"
