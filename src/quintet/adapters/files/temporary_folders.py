"""Temporary folders of Quintet's own, for what it runs or reads itself, or has its helpers read.

They are 0700 and lie in Quintet's state, which no command sees: never in a temporary folder that lies in a project,
where a command could change them meanwhile. What a killed process left is removed a day later.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from shutil import rmtree
from typing import IO

from quintet.adapters.files.paths import state_folder
from quintet.adapters.files.private_files import private, private_folder
from quintet.adapters.processes.host_programs import is_apart
from quintet.domain.base.lazy_regex import regex

OLD_SECONDS = 86_400.0
_NAME = regex(r"quintet-\d+-[0-9a-f]+")
_swept: set[str] = set()


def temporary_folder(*, seen: bool = False, longest: int = 0) -> str:
    """Make one; whoever makes it removes it. OSError if there is no place for it.

    `seen`: a command is to find it at the same path, so it may not lie in the project, where Quintet's state is
    covered. `longest`: how many letters the path may have, for what keeps sockets there.
    """
    problem: OSError | None = None
    for place, ours in _places():
        if (ours and not seen) or is_apart(place):
            path = os.path.join(place, f"quintet-{os.getpid()}-{os.urandom(4).hex()}")
            if longest and len(path) > longest:
                continue
            try:
                if ours:
                    private_folder(place)
                _sweep(place)
                os.mkdir(path, 0o700)
            except OSError as error:
                problem = problem or error
            else:
                return path
    raise problem or OSError(f"no place for a temporary folder outside the project; {state_folder()} is too long")


@contextlib.contextmanager
def temporary(*, seen: bool = False) -> Iterator[str]:
    """One that is gone afterwards."""
    path = temporary_folder(seen=seen)
    try:
        yield path
    finally:
        rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def unnamed_file() -> Iterator[IO[bytes]]:
    """A file without a name, to be written and read again."""
    with temporary() as folder, open(os.path.join(folder, "unnamed"), "x+b", opener=private) as file:
        os.unlink(file.name)
        yield file


def _places() -> Iterator[tuple[str, bool]]:
    """Where one could be, and whether that is a folder of Quintet's own; the best first."""
    yield os.path.join(state_folder(), "tmp"), True
    named = (os.environ.get(variable, "") for variable in ("XDG_RUNTIME_DIR", "TMPDIR", "TEMP", "TMP"))
    for place in (*named, "/tmp", "/var/tmp"):
        if os.path.isabs(place):
            yield place, False


def _sweep(place: str) -> None:
    """Remove, once in a process, what this user's processes left that are gone."""
    if place in _swept:
        return
    _swept.add(place)
    for path in left_folders(place):
        with contextlib.suppress(OSError):
            if time.time() - os.lstat(path).st_mtime > OLD_SECONDS:
                rmtree(path, ignore_errors=True)


def left_folders(place: str) -> list[str]:
    """Those in a folder that this user's processes left that are gone."""
    found = []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(place)):
            path, number = os.path.join(place, name), name.split("-")[1:2]
            about = os.lstat(path)
            ours = _NAME.fullmatch(name) and stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
            if ours and not os.path.exists(f"/proc/{''.join(number) or '-'}"):
                found.append(path)
    return found
