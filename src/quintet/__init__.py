"""Quintet, a coding agent you steer by five dials.

As a library: ``async with quintet.open(path) as session`` gives the same Session every surface uses.
For tools of your own: ``from quintet import Effect, ToolResult, Workbench, tool``; for a plugin also ``Feature``.
"""

from __future__ import annotations

from quintet.package import load as _load

__version__ = "0.2.0"
__all__ = [
    "BoardEntry",
    "BoardKind",
    "Checkup",
    "CliCommand",
    "Effect",
    "Feature",
    "FeatureCheck",
    "FeatureCommand",
    "Finding",
    "FindingKind",
    "HealthScope",
    "Opening",
    "PermissionProfile",
    "Severity",
    "ToolFailed",
    "ToolResult",
    "Touch",
    "Workbench",
    "__version__",
    "open",
    "setting",
    "tool",
]

TYPE_CHECKING = False  # typing itself is not imported: `quintet --version` starts faster than it loads
if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from quintet.adapters.settings.checkup import Checkup
    from quintet.app.services import Opening
    from quintet.domain.base.errors import ToolFailed
    from quintet.domain.dials.axes import PermissionProfile
    from quintet.domain.permission.effects import Effect
    from quintet.domain.ports.ports import Workbench
    from quintet.domain.settings.meta import setting
    from quintet.domain.tasks.board import BoardEntry, BoardKind
    from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
    from quintet.domain.turn.tool_spec import ToolResult, Touch
    from quintet.engine.session.session import Session
    from quintet.features.feature import CliCommand, Feature, FeatureCheck, FeatureCommand
    from quintet.tools.declare import tool

_HOMES = {  # of what a tool or a plugin is declared with; imported when first asked for
    "BoardEntry": "domain.tasks.board",
    "BoardKind": "domain.tasks.board",
    "Checkup": "adapters.settings.checkup",
    "CliCommand": "features.feature",
    "Effect": "domain.permission.effects",
    "Feature": "features.feature",
    "FeatureCheck": "features.feature",
    "FeatureCommand": "features.feature",
    "Finding": "domain.tasks.health",
    "FindingKind": "domain.tasks.health",
    "HealthScope": "domain.tasks.health",
    "Opening": "app.services",
    "PermissionProfile": "domain.dials.axes",
    "Severity": "domain.tasks.health",
    "ToolFailed": "domain.base.errors",
    "ToolResult": "domain.turn.tool_spec",
    "Touch": "domain.turn.tool_spec",
    "Workbench": "domain.ports.ports",
    "setting": "domain.settings.meta",
    "tool": "tools.declare",
}


def open(path: str = ".", **options: Any) -> AbstractAsyncContextManager[Session]:
    """Open a session on the project at `path`; see `quintet.app.open.open_session` for the options."""
    opened: AbstractAsyncContextManager[Session] = _load("app.open:open_session")(path, **options)
    return opened


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _load(f"{_HOMES[name]}:{name}")
