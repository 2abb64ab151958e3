"""What the index knows, as values: a symbol, a file, and what was taken out of one."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

KINDS = (
    "class", "interface", "struct", "enum", "type", "module", "function", "method", "field", "constant", "variable",
    "macro",
)  # fmt: skip
SCOPES = frozenset({"class", "interface", "struct", "enum", "module", "function", "method", "scope"})
Extent = Literal["whole", "words", "name"]  # how much of a file is in: all, no symbols, or only its name


class Declared(Struct, frozen=True, array_like=True):
    """A symbol as its file declares it; lines count from 1."""

    name: str
    kind: str
    container: str  # the names that it stands in, with dots
    line: int
    end: int
    text: str  # its first line


class Extract(Struct, frozen=True, array_like=True):
    """What was taken out of one file."""

    path: str
    stamp: tuple[int, int]  # its size, and its time in nanoseconds: 0 if it may change within the same moment
    digest: bytes
    language: str = ""
    lines: int = 0
    extent: Extent = "whole"
    symbols: tuple[Declared, ...] = ()
    identifiers: bytes = b""  # of each that it uses, 4 bytes of a digest
    names: str = ""  # the words of what it declares
    often: str = ""  # the words that it repeats
    words: str = ""  # all the others
    same: bool = False  # the digest is what it was before: only the stamp is new
    gone: bool = False  # it cannot be read any more
    broken: bool = False  # it has syntax errors


class FoundSymbol(Struct, frozen=True):
    """A symbol that was found."""

    name: str
    kind: str
    container: str
    path: str
    line: int
    end: int
    language: str
    text: str

    @property
    def full_name(self) -> str:
        return f"{self.container}.{self.name}" if self.container else self.name


class Reference(Struct, frozen=True):
    """A line that uses a name."""

    path: str
    line: int
    text: str
    declares: bool = False


class FittingFile(Struct, frozen=True):
    """A file that fits some words, with what in it fits best."""

    path: str
    score: float
    line: int
    text: str
    symbols: tuple[FoundSymbol, ...] = ()


class References(Struct, frozen=True):
    """Where a name is used: the lines shown, and the files in all."""

    lines: tuple[Reference, ...]
    files: int
    cut: bool = False  # there are more than these


class IndexStatus(Struct, frozen=True):
    files: int
    symbols: int
    lines: int
    text_bytes: int
    bytes: int
    languages: dict[str, int]  # its files, the most first
    without_symbols: int  # files that are too large, generated or of no known language
    broken: int  # files with syntax errors
    built: str  # when it was last complete; empty: never
    building: bool  # a process is at it now
    path: str
