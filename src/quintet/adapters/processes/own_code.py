"""Quintet's own code where it lies in the project: what is not to be written, and what is loaded before it can be.

An environment that Quintet runs from is read-only for commands, and file tools ask. Its own source tree is there to be
worked on, so all of it is loaded at the start: what a call changes there is not run by this session.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module

from quintet.adapters.sandbox.host_mounts import below
from quintet.package import FOLDER, INSTALLED


@cache
def source(script: str) -> str:
    """The script as it was when it was first asked for: where Quintet lies in a project, calls can write it."""
    with open(script, encoding="utf-8") as file:
        return file.read()


def run_from(root: str) -> tuple[str, ...]:
    """The folders in the project that Quintet runs from and that nobody works on."""
    installed = (FOLDER,) if INSTALLED else ()
    prefix = (sys.prefix,) if sys.prefix != sys.base_prefix else ()
    found = (path for place in (*prefix, *installed) for path in (place, os.path.realpath(place)))
    return tuple(dict.fromkeys(path for path in found if path != root and below(path, root)))


def load_all(root: str) -> None:
    """Load what Quintet would import later, if its source tree lies in the project."""
    if INSTALLED or not below(FOLDER, root):
        return
    for module in pkgutil.walk_packages([FOLDER], "quintet."):
        if module.name.endswith("_child"):
            source(os.path.join(FOLDER, *module.name.split(".")[1:]) + ".py")
        elif not module.name.endswith("__main__"):
            with suppress(ImportError):  # of an extra that is not installed
                import_module(module.name)
