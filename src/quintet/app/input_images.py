"""The pictures that inputs name: those of the project, and those elsewhere that a person typed at this very prompt.

A path outside the project is a person's to give and nobody else's. It is read once, when its input is submitted in
this process; an input that came by the inbox of another process, a pipe or a file brings none along.
"""

from __future__ import annotations

import contextlib
import os
import stat

from quintet.adapters.files.paths import Places
from quintet.adapters.files.project_files import ProjectFiles
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.protected_paths import inside
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.messages import KeptImage
from quintet.tools.images import IMAGE_BYTES, kept_image


class InputImages:
    def __init__(self, places: Places, files: ProjectFiles, bench: Workbench) -> None:
        self._root = places.root
        self._files = files
        self._bench = bench
        self._brought: dict[str, dict[str, KeptImage]] = {}  # by their inputs, until those begin

    def bring(self, submission: str, paths: tuple[str, ...]) -> None:
        """Take copies of those of the paths that lie outside the project, for the turn of this input."""
        found: dict[str, KeptImage] = {}
        for path in paths:
            place = os.path.join(self._root, os.path.expanduser(path) if path.startswith("~/") else path)
            if inside(place, self._root) is None:  # what lies in the project may be a link that others made
                with contextlib.suppress(OSError, ValueError):
                    if image := kept_image(self._bench, _regular(place)):
                        found[path] = image
        if found:
            self._brought[submission] = found

    def keep(self, paths: tuple[str, ...], submission: str = "") -> tuple[KeptImage | None, ...]:
        """Each as a picture that is kept; None for what a call could not read unasked and nobody brought."""
        brought = self._brought.pop(submission, {})
        return tuple(brought.get(path) or self._of_project(path) for path in paths)

    def _of_project(self, path: str) -> KeptImage | None:
        place = inside(os.path.join(self._root, path), self._root)
        with contextlib.suppress(OSError, ToolFailed, ValueError):
            if place and os.stat(os.path.join(self._root, place)).st_size <= IMAGE_BYTES:
                return kept_image(self._bench, self._files.read(place))
        return None


def _regular(place: str) -> bytes:
    """The bytes of a file of at most the size that is taken; none of a pipe, a device or anything larger."""
    with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        return file.read() if stat.S_ISREG(found.st_mode) and found.st_size <= IMAGE_BYTES else b""
