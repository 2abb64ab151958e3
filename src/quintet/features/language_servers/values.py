"""What language servers say about code."""

from __future__ import annotations

from msgspec import Struct


class SourcePlace(Struct, frozen=True):
    """Where something stands in a source file. Lines and columns count from 1, columns in characters."""

    path: str  # relative to the project; absolute, or a server's own URI, for what is outside
    line: int
    column: int
    text: str  # that line; empty for what is outside


class Diagnostic(Struct, frozen=True):
    line: int
    column: int
    severity: str  # error, warning, information or hint
    code: str
    message: str


class Found(Struct, frozen=True):
    """What a server answered, and what speaks against its being all."""

    places: tuple[SourcePlace, ...]
    loading: str = ""  # what the server was still at
    unlisted: tuple[str, ...] = ()  # files that hold the word and that the server does not list


class Said(Struct, frozen=True):
    text: str
    loading: str = ""


class Diagnosed(Struct, frozen=True):
    diagnostics: tuple[Diagnostic, ...]
    loading: str = ""
