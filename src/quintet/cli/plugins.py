"""`quintet plugins`: the features that were installed beside Quintet, what each adds, and why one is not used."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from quintet.adapters.settings.user_tools import SHIPPED
from quintet.cli.commands import TABLE
from quintet.cli.parsing import lookup
from quintet.domain.settings.settings import Settings
from quintet.engine.commands.table import known
from quintet.features import registry
from quintet.features.registry import Plugin
from quintet.surfaces.tables import say, say_json, say_table

NONE_YET = "no plugins: a plugin is a package in Quintet's environment with an entry point in quintet.features"
KINDS = ("tools", "slash", "commands", "settings", "checks")


def plugins(arguments: Namespace) -> int:
    rows = [_row(plugin) for plugin in registry.plugins()]
    if arguments.json:
        say_json(rows)
    elif not rows:
        say([NONE_YET])
    else:
        cells = [(row["name"], row["package"], row["problem"] or "; ".join(_adds(row))) for row in rows]
        say_table(cells, heading=("PLUGIN", "PACKAGE", "ADDS"))
    return 1 if any(row["problem"] for row in rows) else 0


def _row(plugin: Plugin) -> dict[str, Any]:
    """A plugin and what it adds; a tool or command of a name that is taken already is not added."""
    feature = plugin.feature
    row: dict[str, Any] = {"name": plugin.name, "package": plugin.package, "problem": plugin.problem}
    if feature is None:
        return row
    specs, problem = registry.plugin_tools(plugin, Settings())
    if problem:
        return {**row, "problem": problem}
    tools = [spec.name for spec in specs]
    taken = [name for name in tools if name in SHIPPED]
    taken += [f"/{one.name}" for one in feature.slash if known(one.name)]
    taken += [f"quintet {name}" for name in feature.commands if name in TABLE]
    return {
        **row,
        "problem": f"these names are already used: {', '.join(taken)}" if taken else "",
        "about": feature.about,
        "tools": tools,
        "slash": [f"/{one.name}" for one in feature.slash],
        "commands": [f"quintet {name}" for name in feature.commands],
        "settings": [f"[{name}]" for name in (*feature.settings, *(f"{table}.NAME" for table in feature.named))],
        "checks": [check.look.partition(":")[2] for check in feature.checks],
    }


def _adds(row: dict[str, Any]) -> list[str]:
    return [f"{kind}: {', '.join(row[kind])}" for kind in KINDS if row[kind]]


PLUGINS = lookup("plugins", "Installed plugins: what each adds, and why one is not used.", plugins)
