"""What the browser tools need of the machine."""

from __future__ import annotations

from quintet.adapters.processes.python_environment import package_part
from quintet.app.machine_parts import PartSources, runs
from quintet.domain.base.errors import ToolFailed
from quintet.domain.turn.tool_spec import MachinePart
from quintet.features.browser.chromium import MISSING, PACKAGE, find
from quintet.features.browser.settings import BrowserSettings


def chromium(around: PartSources) -> MachinePart:
    try:
        path = find(around.settings.table("browser", BrowserSettings))
    except ToolFailed as error:
        return MachinePart("chromium", False, "", error.message)
    return runs("chromium", (path, "--version"), MISSING)


def playwright(around: PartSources) -> MachinePart:
    return package_part("playwright", "playwright", PACKAGE)
