"""Which files of the project hold a word: what a list of references is measured by, and what a server is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.ports import Files

MOST_LOOKED_AT = 20_000  # files
MOST_BYTES = 2_000_000  # of one file


def holding(word: str, paths: Iterable[str], files: Files) -> list[str]:
    """Those of these files that hold the word as a whole one; none that is not to be read."""
    plain = word.encode()
    whole = re.compile(rb"(?<![\w$])" + re.escape(plain) + rb"(?![\w$])")
    found = []
    for _, path in zip(range(MOST_LOOKED_AT), sorted(paths), strict=False):
        try:
            data = files.read(path)
        except (ToolFailed, OSError):
            continue
        if len(data) <= MOST_BYTES and plain in data and whole.search(data):
            found.append(path)
    return found
