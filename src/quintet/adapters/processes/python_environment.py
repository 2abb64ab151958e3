"""The Python that Quintet runs on: its own code where that lies in the project, and packages that its parts need.

An environment that Quintet runs from is read-only for commands, and file tools ask. Its own source tree is there to be
worked on, so all of it is loaded at the start: what a call changes there is not run by this session.
"""

from __future__ import annotations

import os
import pkgutil
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.host_programs import program
from quintet.adapters.sandbox.host_mounts import below
from quintet.domain.base.errors import UsageError
from quintet.domain.turn.tool_spec import MachinePart
from quintet.package import FOLDER, INSTALLED


@cache
def source(script: str) -> str:
    """The script as it was when it was first asked for: where Quintet lies in a project, calls can write it."""
    with open(script, encoding="utf-8") as file:
        return file.read()


def run_from(root: str) -> tuple[str, ...]:
    """The folders in the project that Quintet runs from and that are not under development."""
    installed = (FOLDER,) if INSTALLED else ()
    prefix = (sys.prefix,) if sys.prefix != sys.base_prefix else ()
    found = (path for place in (*prefix, *installed) for path in (place, real_path(place)))
    return tuple(dict.fromkeys(path for path in found if path != root and below(path, root)))


def load_all(root: str) -> None:
    """Load what Quintet would import later, if its source tree lies in the project."""
    if INSTALLED or not below(FOLDER, root):
        return
    for module in pkgutil.walk_packages([FOLDER], "quintet."):
        if module.name.endswith("_child"):
            source(os.path.join(FOLDER, *module.name.split(".")[1:]) + ".py")
        elif not module.name.endswith("__main__"):
            with suppress(ImportError, UsageError):  # of an optional part that is not installed
                import_module(module.name)


def install_line(requirement: str) -> str:
    """The command that installs a package where this program runs; to be copied and pasted."""
    return f"{shlex.quote(sys.executable)} -m pip install '{requirement}'"


def extras() -> dict[str, list[str]]:
    """Quintet's optional parts, each with the packages that it needs, as the installed metadata has them."""
    from importlib.metadata import requires  # 15 ms

    found: dict[str, list[str]] = {}
    for line in requires("quintet") or ():
        requirement, _, marker = line.partition(";")
        _, is_extra, name = marker.partition("extra == ")
        if is_extra:
            found.setdefault(name.strip(" '\""), []).append(requirement.strip())
    return {name: sorted(found[name]) for name in sorted(found)}


def missing(requirements: Iterable[str]) -> list[str]:
    """Those whose package is not installed; versions are the installer's to judge."""
    from importlib.metadata import PackageNotFoundError, version

    lacking = []
    for requirement in requirements:
        try:
            version(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
        except PackageNotFoundError:
            lacking.append(requirement)
    return lacking


def installer(requirements: Sequence[str]) -> list[str]:
    """The command that installs packages where this program runs; nothing of the current folder is imported by it."""
    if find_spec("pip"):
        return [sys.executable, "-I", "-m", "pip", "install", *requirements]
    if uv := program("uv"):
        return [uv, "pip", "install", "--python", sys.executable, *requirements]
    raise UsageError("neither pip nor uv is in Quintet's environment", hint="Install uv, then repeat the command")


def install_part(extra: str) -> str:
    """The command that installs one of Quintet's optional parts, with the installer that its environment has."""
    return f"quintet install {extra}"


def package_part(name: str, module: str, extra: str) -> MachinePart:
    """Whether a module of an optional part can be imported, found without importing it, and of which version it is."""
    from importlib.metadata import PackageNotFoundError, version  # 15 ms

    try:
        there = find_spec(module) is not None
    except (ImportError, ValueError):
        there = False
    if not there:
        return MachinePart(name, False, "", f"{name}: {install_part(extra)}")
    try:
        return MachinePart(name, True, f"{module} {version(module)}")
    except PackageNotFoundError:
        return MachinePart(name, True, module)
