"""Where Quintet's own files lie, and how a part of it is loaded by its name: what most runs never need stands so."""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.dirname(os.path.realpath(__file__))
INSTALLED = "site-packages" in FOLDER  # not a source tree that somebody works on


def load(name: str, package: str = "quintet") -> Any:
    """What "module:name" stands for, below a package."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"{package}.{module}"), attribute)
