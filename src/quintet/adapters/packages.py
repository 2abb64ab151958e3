"""How a missing Python package gets here: one line to copy, for the very Python that runs."""

from __future__ import annotations

import sys


def install(extra: str) -> str:
    """The command that brings an extra of Quintet's."""
    return f"{sys.executable} -m pip install 'quintet[{extra}]'"
