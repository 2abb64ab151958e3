"""For the doctor: folders that the settings show the sandbox, and that it cannot show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.sandbox.containment import installed_in
from quintet.adapters.sandbox.opened_places import opened_here
from quintet.adapters.settings.gate_terms import protection_of
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

SANDBOX_SHOW_REFUSED = FindingKind(
    "SANDBOX_SHOW_REFUSED",
    Severity.WARNING,
    HealthScope.USER,
    "`sandbox.show` or `sandbox.give` names a folder that does not exist, or that no command may see.",
    "Correct the setting.",
)
INSTALLED_IN_PROJECT = FindingKind(
    "INSTALLED_IN_PROJECT",
    Severity.WARNING,
    HealthScope.MACHINE,
    "Quintet, or the Python that runs it, is in the project, where commands can change it.",
    "Install Quintet outside the project, for example with pipx.",
)
KINDS = (SANDBOX_SHOW_REFUSED, INSTALLED_IN_PROJECT)


def folders_are_shown(checkup: Checkup) -> Iterator[Finding]:
    places, settings = checkup.places, checkup.settings
    for name, entry, why in opened_here(settings.sandbox, places, protection_of(places, settings)).refused:
        yield SANDBOX_SHOW_REFUSED.of(on_one_line(entry), on_one_line(f'{name} = ["{entry}"] is not followed: {why}'))


def quintet_lies_outside(checkup: Checkup) -> Iterator[Finding]:
    if said := installed_in(checkup.places.root):
        yield INSTALLED_IN_PROJECT.of(on_one_line(checkup.places.root), said)
