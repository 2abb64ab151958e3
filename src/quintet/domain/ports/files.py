"""The project's files, as the tools and the engine need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from quintet.domain.permission.moved_folders import MoveCheck
from quintet.domain.permission.protected_paths import Protection


class FolderEntry(Struct, frozen=True):
    """A file or folder as listings show it."""

    name: str
    kind: str  # file, folder, link or other
    size: int
    access: int  # permission bits
    changed: str  # ISO 8601, UTC


class Looks(Protocol):
    """Whoever knows what there is to protect in the project, and looks whether it is still so."""

    def before_writing(self) -> None:
        """Look once, before anything was written."""

    def moved(self, source: str, destination: str, asked: Sequence[str]) -> None:
        """A folder was moved, and what of it was asked about; what else came with it is moved aside. Relative paths."""


class Files(Protocol):
    """The project's files. Paths are relative to the root or absolute.

    Nothing outside the root is opened, but for a read whose path says so: the gate has asked about that one.
    """

    root: str
    protection: Protection

    def read(self, path: str) -> bytes: ...

    def leads_to(self, path: str) -> str:
        """Where a path really is: itself, or what the links in it lead to. Nothing is opened."""

    def is_there(self, path: str) -> bool:
        """Whether there is anything at a path, which may lie outside the project. Nothing is opened."""

    def replace(self, path: str, data: bytes) -> None:
        """Write atomically: the old file or the new one, never a mixture. Makes parent folders."""

    def entries(self, path: str) -> list[FolderEntry]: ...

    def info(self, path: str) -> FolderEntry: ...

    def make_folder(self, path: str) -> bool:
        """Make a folder and those above it; returns whether it was missing."""

    def delete(self, path: str) -> None:
        """Delete a file or an empty folder."""

    def move(self, source: str, destination: str) -> None:
        """Move without overwriting anything."""

    def carried(self, source: str, destination: str) -> MoveCheck:
        """What moving this would carry along; an OSError or ToolFailed where it cannot be moved at all."""

    def relative(self, path: str) -> str:
        """The path relative to the root, by its words alone."""

    def real(self, path: str) -> str:
        """The absolute path of an existing file or folder of the project, links followed."""
