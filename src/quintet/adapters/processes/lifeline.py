"""The pipe between Quintet and the small parent of a command: what is started says there that it stands, and learns
there that Quintet is gone.

Only Quintet reads it, and only that parent can write to it. However Quintet ends, the system closes the reading end:
what has not begun by then does not begin, and what runs is ended, with all it started.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from quintet.adapters.processes.python_environment import source
from quintet.adapters.sandbox.confine import MISSING, NO_REPORT, WATCH
from quintet.adapters.sandbox.containment import CONFINE, Launch
from quintet.adapters.sandbox.sandbox_init import STANDING


class Lifeline:
    """Of one launch; a launch without a place for it has none."""

    def __init__(self, launch: Launch) -> None:
        self.argv = launch.argv
        self.handles: tuple[int, ...] = ()  # for the process that is started
        self.said = b""
        self._reads = -1
        if launch.reports:
            self._reads, writes = os.pipe()
            os.set_blocking(self._reads, False)
            self.handles = (writes,)
            self.argv = launch.reporting(writes)

    def handed_over(self) -> None:
        """The process has its own copy now, or was not started."""
        for handle in self.handles:
            os.close(handle)

    def hear(self) -> None:
        """After the end of the process: what it said."""
        with contextlib.suppress(BlockingIOError):
            self.said = os.read(self._reads, 4096) if self._reads >= 0 else b""

    @property
    def stood(self) -> bool:
        return STANDING in self.said

    @property
    def missing(self) -> bool:
        return MISSING in self.said

    def close(self) -> None:
        """Let go: whatever is left of the command ends."""
        if self._reads >= 0:
            os.close(self._reads)
            self._reads = -1


def watched(argv: Sequence[str], cwd: str) -> Launch:
    """A program that runs as it is, and ends with Quintet."""
    words = (sys.executable, "-I", "-S", "-c", source(CONFINE))
    return Launch((*words, NO_REPORT, WATCH, *argv), cwd, command=tuple(argv), reports=len(words))
