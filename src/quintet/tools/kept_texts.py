"""Keeps a text that is too long to show in a file that Read reads, without secrets."""

from __future__ import annotations

import os

from quintet.domain.ports.ports import Workbench


def kept(bench: Workbench, name: str, text: str) -> str:
    """The path of the file the text is in."""
    text = bench.secrets.text(text) if bench.secrets else text
    os.makedirs(bench.outputs, mode=0o700, exist_ok=True)
    where = os.path.join(bench.outputs, name)
    with open(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text.encode("utf-8", "replace").decode())
    return where
