"""Whether memories still hold: paths and texts are looked at, nothing is run."""

from __future__ import annotations

from collections.abc import Iterable

from quintet.adapters.files.project_files import ProjectFiles
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.safe_text import on_one_line
from quintet.features.memory.values import MemoryCheck, MemoryEntry, PathCheck, TakenBackCheck, TextCheck

MOST_READ = 1_000_000  # bytes of a file that is looked into


def why_not(check: MemoryCheck | None, files: ProjectFiles) -> str:
    """Why a memory no longer holds; empty if it does, or if only running something would say."""
    match check:
        case TakenBackCheck():
            return "a rewind restored its files"
        case PathCheck(path=path) if not files.is_there(path):
            return f"{on_one_line(path)} no longer exists"
        case TextCheck(path=path, text=text):
            try:
                if files.info(path).size > MOST_READ:
                    return ""
                there = text.encode() in files.read(path)
            except (OSError, ToolFailed):
                return f"{on_one_line(path)} cannot be read"
            return "" if there else f'{on_one_line(path)} no longer contains "{on_one_line(text)}"'
    return ""


def stale(entries: Iterable[MemoryEntry], files: ProjectFiles) -> dict[str, str]:
    """By id, why those do not hold that do not."""
    found = ((one.id, why_not(one.check, files)) for one in entries)
    return {id: why for id, why in found if why}
