"""Python packages that tools need and Quintet does not bring: whether they are here, and the line that gets them."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

from quintet.domain.turn.tool_spec import MachinePart


def install_line(requirement: str) -> str:
    """The command that installs a package where this program runs; to be copied and pasted."""
    return f"{shlex.quote(sys.executable)} -m pip install '{requirement}'"


def package_part(name: str, module: str, requirement: str) -> MachinePart:
    """Whether a module can be imported, found without importing it, and which version its package is of."""
    from importlib.metadata import PackageNotFoundError, version  # 15 ms

    try:
        there = find_spec(module) is not None
    except (ImportError, ValueError):
        there = False
    if not there:
        return MachinePart(name, False, "", f"{name}: {install_line(requirement)}")
    try:
        return MachinePart(name, True, f"{module} {version(module)}")
    except PackageNotFoundError:
        return MachinePart(name, True, module)
