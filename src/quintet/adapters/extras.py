"""Python packages that come with extras: whether one is there, and the line that installs it."""

from __future__ import annotations

import shlex
import sys


def pip_install(requirement: str) -> str:
    """The command that installs a package where this Quintet runs, to be copied into a shell."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(requirement)}"


def installed(package: str) -> bool:
    """Whether a package can be imported; it is not."""
    from importlib.util import find_spec

    return find_spec(package) is not None
