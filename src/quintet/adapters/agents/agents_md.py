"""What a project tells agents: AGENTS.md of the nearest folder up to the project's root, or another agent's page.

It goes to a model unasked, so it is read as a call would read it: a page that is a link may lead to another file of the
project, never out of it or to a secret.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from quintet.domain.base.errors import ToolFailed

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
MOST_BYTES = 64_000


def agents_page(start: str, root: str, read: Callable[[str], bytes]) -> str:
    """The page's text, its place named first; empty if there is none. `read` is that of the project's files."""
    folder = os.path.realpath(start)
    while True:
        for name in NAMES:
            place = os.path.relpath(os.path.join(folder, name), root)
            text = _text(place, read)
            if text is not None:
                return f"From {place}:\n\n{text}"
        if folder == root or len(folder) <= len(root):
            return ""
        folder = os.path.dirname(folder)


def _text(place: str, read: Callable[[str], bytes]) -> str | None:
    try:
        data = read(place)
    except (OSError, ToolFailed):
        return None
    text = data[:MOST_BYTES].decode("utf-8", "replace").strip()
    return f"{text}\n(cut after {MOST_BYTES} bytes)" if len(data) > MOST_BYTES else text
