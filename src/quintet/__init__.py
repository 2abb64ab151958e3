"""Quintet, a coding agent you steer by five dials.

As a library: ``async with quintet.open(path) as session`` gives the same Session every surface uses.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__", "open"]

TYPE_CHECKING = False  # typing itself is not imported: `quintet --version` starts faster than it loads
if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from quintet.engine.session import Session


def open(path: str = ".", **options: Any) -> AbstractAsyncContextManager[Session]:
    """Open a session on the project at `path`; see `quintet.app.open_session` for the options."""
    from quintet.app import open_session

    return open_session(path, **options)
