"""Notices covers that fell off a running sandbox.

What is laid lies on the very file that was there. When that file is replaced by another of its name on this machine, as
an editor saves and as git writes its settings, the kernel takes the cover away in every sandbox. Nobody can put it back
from outside; so it is told, at the next command and when the command that had it is over.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from quintet.adapters.sandbox.inside import COVER, EMPTY, READ_ONLY

Cover = tuple[str, str, str]  # how, the absolute path, the file's device and number
_COULD = {COVER: "read", EMPTY: "read", READ_ONLY: "change"}


class LaidCovers:
    """Those of the sandboxes that run now."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._laid: dict[int, tuple[tuple[Cover, ...], set[Cover]]] = {}  # by identity; the second: told

    def minded(self, words: Sequence[str]) -> tuple[Cover, ...]:
        """The covers among what is laid: words for inside.py, four each. They are minded until they are `over`."""
        each = zip(words[0::4], words[1::4], words[2::4], words[3::4], strict=True)
        covers = tuple((how, os.path.join(base, name), number) for how, base, name, number in each if how in _COULD)
        if covers:
            self._laid[id(covers)] = (covers, set())
        return covers

    def over(self, covers: tuple[Cover, ...]) -> list[str]:
        """What fell off a sandbox that is over, and was not told."""
        laid = self._laid.pop(id(covers), None)
        return self._fallen(*laid, "this command") if laid else []

    def fallen(self) -> list[str]:
        """What fell off those that run, and was not told."""
        running = list(self._laid.values())  # others end meanwhile, in threads of their own
        return [line for covers, told in running for line in self._fallen(covers, told, "a command that still runs")]

    def _fallen(self, covers: tuple[Cover, ...], told: set[Cover], who: str) -> list[str]:
        lines = []
        for cover in covers:
            how, path, number = cover
            if cover not in told and _number(path) not in (number, ""):
                told.add(cover)
                name = os.path.relpath(path, self._root)
                lines.append(f"{name} was replaced meanwhile: since then {who} could {_COULD[how]} it; check it")
        return lines


def _number(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}"
