"""What a project tells agents: AGENTS.md of the nearest folder up to the project's root, or another agent's page."""

from __future__ import annotations

import os

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
MOST_BYTES = 64_000


def agents_page(start: str, root: str) -> str:
    """The page's text, its place named first; empty if there is none."""
    folder = os.path.realpath(start)
    while True:
        for name in NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return f"From {os.path.relpath(path, root)}:\n\n{_read(path)}"
        if folder == root or len(folder) <= len(root):
            return ""
        folder = os.path.dirname(folder)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return ""
    text = data[:MOST_BYTES].decode("utf-8", "replace").strip()
    return f"{text}\n(cut after {MOST_BYTES} bytes)" if len(data) > MOST_BYTES else text
