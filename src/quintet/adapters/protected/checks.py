"""For the doctor: what a killed session may have left in protected places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.protected.left_behind import left_note
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

LEFT_BEHIND = FindingKind(
    "LEFT_BEHIND",
    Severity.WARNING,
    HealthScope.USER,
    "A session was killed while a command ran, and protected paths have files that were not there before.",
    "see the files: quintet aside",
)
KINDS = (LEFT_BEHIND,)


def nothing_was_left_behind(checkup: Checkup) -> Iterator[Finding]:
    """A session says it when it opens; so only a thorough look tells it again."""
    if checkup.thorough and (killed := left_note(checkup.places, checkup.settings)):
        yield LEFT_BEHIND.of(on_one_line(checkup.places.root), killed)
