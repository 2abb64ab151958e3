"""The language server protocol's values, as far as they are read here, and how paths and columns are written in it."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

SEVERITIES = ("", "error", "warning", "information", "hint")


class Position(Struct):
    line: int
    character: int


class Range(Struct):
    start: Position
    end: Position | None = None


class Location(Struct, rename="camel"):
    """A Location, or a LocationLink from servers that send one unasked."""

    uri: str = ""
    range: Range | None = None
    target_uri: str = ""
    target_selection_range: Range | None = None


class Code(Struct):
    value: int | str = ""


class WireDiagnostic(Struct):
    range: Range
    message: str
    severity: int = 1
    code: int | str | Code | None = None


class Published(Struct):
    uri: str
    diagnostics: list[WireDiagnostic]
    version: int | None = None


class WireMessage(Struct):
    type: int
    message: str


class Pulled(Struct):
    items: list[WireDiagnostic]


class Capabilities(Struct, rename="camel"):
    position_encoding: str = "utf-16"
    diagnostic_provider: Any = None
    rename_provider: Any = None
    code_action_provider: Any = None


class Initialized(Struct):
    capabilities: Capabilities


class WireWork(Struct):
    kind: str
    title: str = ""
    message: str | None = None
    percentage: float | None = None


class WireProgress(Struct):
    token: int | str
    value: WireWork


class Items(Struct):
    items: list[Any]


def text_of(data: bytes) -> str:
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def lines_of(text: str) -> list[str]:
    """Lines as the protocol counts them; str.splitlines knows more line ends."""
    return re.split(r"\r\n|\n|\r", text)


def units(text: str, encoding: str) -> int:
    return len(text.encode()) if encoding == "utf-8" else len(text.encode("utf-16-le")) // 2


def characters(line: str, units: int, encoding: str) -> int:
    data = line.encode()[:units] if encoding == "utf-8" else line.encode("utf-16-le")[: 2 * units]
    return len(data.decode("utf-8" if encoding == "utf-8" else "utf-16-le", "ignore"))


def uri_of(path: str) -> str:
    return f"file://{quote(os.fsencode(path))}"


def path_of(uri: str) -> str:
    """The path of a file's URI; any other URI as it is."""
    return os.fsdecode(unquote_to_bytes(uri.removeprefix("file://"))) if uri.startswith("file:///") else uri


def plain(contents: Any) -> str:
    """Hover contents, in each of the shapes the protocol had over the years."""
    if isinstance(contents, list):
        return "\n\n".join(filter(None, map(plain, contents)))
    if isinstance(contents, dict):
        contents = contents.get("value")
    return contents.strip() if isinstance(contents, str) else ""


def severity_of(number: int) -> str:
    return SEVERITIES[number] if 0 < number < len(SEVERITIES) else SEVERITIES[1]


def code_of(code: int | str | Code | None) -> str:
    return str(code.value if isinstance(code, Code) else code or "")
