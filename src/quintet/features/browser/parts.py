"""What the browser tools need of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quintet.adapters.processes.python_environment import package_part
from quintet.app.machine_parts import PartSources, runs
from quintet.domain.base.errors import ToolFailed
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.domain.turn.tool_spec import MachinePart
from quintet.features.browser.chromium import MISSING, PART, find
from quintet.features.browser.settings import BrowserSettings

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup


def chromium(around: PartSources) -> MachinePart:
    try:
        path = find(around.settings.table("browser", BrowserSettings))
    except ToolFailed as error:
        return MachinePart("chromium", False, "", error.message)
    return runs("chromium", (path, "--version"), MISSING)


def playwright(around: PartSources) -> MachinePart:
    return package_part("playwright", "playwright", PART)


BROWSER_MISSING = FindingKind(
    "BROWSER_MISSING",
    Severity.WARNING,
    HealthScope.MACHINE,
    "`browser.path` names a program that does not exist.",
    "Correct browser.path, or remove it.",
)
KINDS = (BROWSER_MISSING,)


def program_is_there(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor: a browser that the settings name is there. Without that setting any Chromium will do, or none."""
    settings = checkup.settings.table("browser", BrowserSettings)
    if not settings.path:
        return
    try:
        find(settings)
    except ToolFailed as error:
        advice = "Correct browser.path in the settings, or remove it."
        yield BROWSER_MISSING.of(settings.path, error.message, advice)
