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
