"""Where Quintet's own files lie, and how a part of it is loaded by its name: what most runs never need stands so."""

from __future__ import annotations

import os
from importlib import import_module
from time import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.dirname(os.path.realpath(__file__))
INSTALLED = "site-packages" in FOLDER  # not a source tree that somebody works on
STARTED = time()


def _identity() -> tuple[int, int]:
    """Which file this one is; another after an upgrade."""
    try:
        own = os.stat(__file__)
    except OSError:
        return 0, 0
    return own.st_ino, own.st_mtime_ns


_OWN = _identity()


def changed_since_start() -> str:
    """A file of Quintet's own that is another than when this process began; empty if there is none."""
    return FOLDER if _identity() != _OWN else changed_after(STARTED)


def changed_after(moment: float) -> str:
    """A file of Quintet's own that was written after a moment; empty if none was."""
    for folder, below, names in os.walk(FOLDER):
        below[:] = [name for name in below if name != "__pycache__"]
        for name in names:
            try:
                if os.stat(path := os.path.join(folder, name)).st_mtime > moment:
                    return path
            except OSError:
                continue
    return ""


def load(name: str, package: str = "quintet") -> Any:
    """What "module:name" stands for, below a package."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"{package}.{module}"), attribute)
