"""Every command of the command line, and where it is; a command is imported when it is run.

Those of features are in the registry.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = {
    "headless": "main:headless",
    "flow": "flow:flow",
    "tour": "main:tour",
    "status": "sessions:STATUS",
    "sessions": "sessions:SESSIONS",
    "rewind": "sessions:REWIND",
    "models": "models:MODELS",
    "agents": "agents:AGENTS",
    "route": "agents:ROUTE",
    "tools": "tools:TOOLS",
    "permit": "tools:permit",
    "rules": "rules:RULES",
    "tasks": "tasks:tasks",
    "aside": "aside:ASIDE",
    "secrets": "secrets:SECRETS",
    "plugins": "plugins:PLUGINS",
    "policy": "policy:policy_command",
    "prompts": "policy:PROMPTS_COMMAND",
    "settings": "settings:SETTINGS",
    "trust": "trust:TRUST",
    "doctor": "doctor:DOCTOR",
    "logs": "reports:LOGS",
    "cost": "reports:COST",
    "report": "reports:REPORT",
    "forensics": "reports:FORENSICS",
    "replay": "replay:REPLAY",
    "why": "sessions:WHY",
}


def find(name: str) -> Callable[[list[str]], int] | None:
    """A command of the core, or of a feature."""
    if name in TABLE:
        module, _, attribute = TABLE[name].partition(":")
        command: Callable[[list[str]], int] = getattr(import_module(f"quintet.cli.{module}"), attribute)
        return command
    from quintet.features import registry

    return registry.command(name)


def names() -> list[str]:
    from quintet.features import registry

    return [*TABLE, *(name for feature in registry.features() for name in feature.commands)]
