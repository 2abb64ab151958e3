"""For the doctor: checkpoints whose contents are gone, so that a rewind could not bring files back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.git.run_git import git_output, git_program
from quintet.adapters.git.shadow_git import ShadowGit
from quintet.adapters.git.shadow_maintenance import Roots
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

SECONDS = 60.0
ALL_THERE = ("rev-list", "--objects", "--quiet")
CHECKPOINTS_DAMAGED = FindingKind(
    "CHECKPOINTS_DAMAGED",
    Severity.WARNING,
    HealthScope.STATE,
    "Contents that checkpoints kept are damaged or were deleted, so /undo and /rewind cannot bring them back.",
    "forget these checkpoints, and save all files again before the next change",
    fixable=True,
)
KINDS = (CHECKPOINTS_DAMAGED,)


def checkpoints_are_whole(checkup: Checkup) -> Iterator[Finding]:
    """Only a thorough look goes through all that is kept. Nothing is locked: what is added meanwhile is whole."""
    lost = _lost(checkup) if checkup.thorough else []
    if lost:
        problem = f"what {counted(len(lost), 'checkpoint')} kept is no longer there"
        yield CHECKPOINTS_DAMAGED.of(checkup.places.checkpoints, problem)


def forget_lost(checkup: Checkup) -> list[str]:
    """The index goes, too: it says that contents are saved which are not."""
    shadow = ShadowGit(checkup.places.checkpoints, checkup.places.root)
    lost = _lost(checkup)
    if not lost:
        return []
    try:
        with shadow.locked(wait=False):
            Roots(shadow.folder).drop(set(lost))
            for name in ("index", "index.tree"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(shadow.folder, name))
    except BlockingIOError:  # a session saves files right now
        return []
    return [f"forgot {counted(len(lost), 'checkpoint')} without their contents"]


def _lost(checkup: Checkup) -> list[str]:
    """The points whose trees, or what these hold, cannot be read."""
    points = Roots(checkup.places.checkpoints).read()
    if not points or not git_program():
        return []
    shadow = ShadowGit(checkup.places.checkpoints, checkup.places.root)
    if _readable(shadow, {name for names in points.values() for name in names if name}):
        return []
    return [point for point, names in points.items() if not _readable(shadow, {name for name in names if name})]


def _readable(shadow: ShadowGit, names: set[str]) -> bool:
    if not names:
        return True
    given = "".join(f"{name}\n" for name in sorted(names)).encode()
    words = (git_program(), *ALL_THERE, "--stdin")
    try:
        git_output(words, shadow.environment(), shadow.root, given, seconds=SECONDS)
    except ToolFailed:
        return False
    return True
