"""What a run leaves behind, in the state folder: artifacts as Markdown and as JSON, and pages to be looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from quintet.adapters.files.private_files import private, private_folder


class Artifacts:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, run: str, name: str, text: str, value: msgspec.Struct) -> str:
        """Write both forms; returns the path of the Markdown."""
        folder = os.path.join(self._folder, run)
        private_folder(folder)
        path = os.path.join(folder, f"{name}.md")
        with open(path, "w", encoding="utf-8", opener=private) as file:
            file.write(text)
        with open(os.path.join(folder, f"{name}.json"), "wb", opener=private) as file:
            file.write(msgspec.json.format(msgspec.json.encode(value)) + b"\n")
        return path

    def keep_page(self, run: str, name: str, pieces: Iterable[str]) -> str:
        """Write a page; returns its path."""
        folder = os.path.join(self._folder, run)
        private_folder(folder)
        path = os.path.join(folder, f"{name}.html")
        with open(path, "w", encoding="utf-8", errors="replace", opener=private) as file:
            file.writelines(pieces)
        return path
