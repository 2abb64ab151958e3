"""Where the programs are that run outside the sandbox: in absolute folders of PATH, and never in a project.

A folder that depends on where we stand, or that lies in a project, directly or by a link, does not count: what is there
is the repository's choice, not the user's. Inside the sandbox PATH stays as the user has it.
"""

from __future__ import annotations

import os
from functools import lru_cache

from quintet.adapters.files.real_path import real_path
from quintet.domain.base.lazy_regex import regex

MOST_LINKS = 40
SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/nix", "/snap")  # never part of a project, though one may be opened at /

_projects: set[str] = set()
_found: dict[tuple[str, str, int], str] = {}


def stay_out_of(root: str) -> None:
    """From now on nothing below this folder is run outside the sandbox."""
    _projects.add(real_path(root))


def program(name: str) -> str:
    """The absolute path of a program, looked for once; empty if it is nowhere that counts.

    A path is taken at its word, for it comes from the user's settings; it has to be absolute.
    """
    if os.sep in name:
        return name if os.path.isabs(name) and _runs(name) else ""
    key = name, os.environ.get("PATH", os.defpath), len(_projects)
    if key not in _found:
        here = next((path for folder in folders() if _runs(path := os.path.join(folder, name)) and is_apart(path)), "")
        if not here:
            return ""  # it may be installed while we run
        _found[key] = here
    return _found[key]


def folders() -> list[str]:
    """The folders of PATH that count."""
    return list(_folders(os.environ.get("PATH", os.defpath), frozenset(_projects)))


@lru_cache(maxsize=8)
def _folders(path: str, projects: frozenset[str]) -> tuple[str, ...]:
    named = dict.fromkeys(path.split(os.pathsep))
    return tuple(folder for folder in named if os.path.isabs(folder) and is_apart(folder))


def host_path() -> str:
    """PATH for what runs outside the sandbox."""
    return os.pathsep.join(folders()) or os.defpath.strip(os.pathsep)


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def is_apart(path: str) -> bool:
    """Whether neither the path nor a link on its way is in a project: whoever owns a link can redirect it."""
    return not any(_in_project(step) for step in _way(path))


def _in_project(path: str) -> bool:
    if "/" in _projects and not any(_below(path, folder) or _below(folder, path) for folder in SYSTEM):
        return True
    while path.strip("/"):
        if path in _projects:
            return True
        path = os.path.dirname(path)
    return False


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _way(path: str) -> list[str]:
    """Every path on the way to a file, links included; the root of everything if the way has no end."""
    steps: list[str] = []
    at, ahead, links = "/", path.split("/"), 0
    while ahead:
        part = ahead.pop(0)
        if part == "..":
            at = os.path.dirname(at)
        if part in ("", ".", ".."):
            continue
        here = os.path.join(at, part)
        steps.append(here)
        try:
            target = os.readlink(here)
        except OSError:
            at = here
            continue
        links += 1
        if links > MOST_LINKS:
            return [*steps, *_projects]
        at = "/" if target.startswith("/") else at
        ahead = [*target.split("/"), *ahead]
    return steps


# What the loader, the C library, a shell or Python reads before a program's own code runs; and where programs are.
_ACTS_ON_PROGRAMS = regex(
    r"LD_|DYLD_|GLIBC_|MALLOC_|GCONV_|PYTHON|BASH|(?:PATH|ENV|SHELLOPTS|PS4|IFS|LOCPATH|NLSPATH|GETCONF_DIR|HOSTALIASES"
    r"|RES_OPTIONS|RESOLV_\w+|LOCALDOMAIN|TZDIR|TMPDIR)$"
)


def acts_on_programs(variable: str) -> bool:
    """Whether a variable changes what programs load or run: one that another has written is no matter of the host's."""
    return _ACTS_ON_PROGRAMS.match(variable) is not None
