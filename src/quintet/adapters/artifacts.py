"""What a run leaves behind for people and programs: each artifact as Markdown and as JSON, in the state folder."""

from __future__ import annotations

import os

import msgspec


class Artifacts:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, run: str, name: str, text: str, value: msgspec.Struct) -> str:
        """Write both forms; returns the path of the Markdown."""
        folder = os.path.join(self._folder, run)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{name}.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with open(os.path.join(folder, f"{name}.json"), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(value)) + b"\n")
        return path
