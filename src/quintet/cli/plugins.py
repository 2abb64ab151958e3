"""`quintet plugins`: the features that were installed beside Quintet. `quintet install`: its own optional parts."""

from __future__ import annotations

import shlex
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from quintet.adapters.processes.python_environment import extras, installer, missing
from quintet.adapters.settings.user_tools import SHIPPED
from quintet.cli.commands import TABLE
from quintet.cli.parsing import lookup
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
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
    taken += [f"quintet {one.name}" for one in feature.commands if one.name in TABLE]
    return {
        **row,
        "problem": f"these names are already used: {', '.join(taken)}" if taken else "",
        "about": feature.about,
        "tools": tools,
        "slash": [f"/{one.name}" for one in feature.slash],
        "commands": [f"quintet {one.name}" for one in feature.commands],
        "settings": [f"[{name}]" for name in (*feature.settings, *(f"{table}.NAME" for table in feature.named))],
        "checks": [check.look.partition(":")[2] for check in feature.checks],
    }


def _adds(row: dict[str, Any]) -> list[str]:
    return [f"{kind}: {', '.join(row[kind])}" for kind in KINDS if row[kind]]


def install(arguments: Namespace) -> int:
    """Optional parts into Quintet's own environment, by the packages they need: its own name is never looked up."""
    parts = extras()
    if not arguments.part:
        return _list(parts, as_json=arguments.json)
    for name in arguments.part:
        if name not in parts:
            raise UsageError(f"there is no optional part {name}.{did_you_mean(name, parts)}", hint=", ".join(parts))
    wanted = sorted({one for name in arguments.part for one in parts[name]})
    command = installer(wanted)
    if arguments.dry_run:
        say([shlex.join(command)])
        return 0
    return 1 if subprocess.run(command, cwd=sys.prefix).returncode else 0


def _list(parts: dict[str, list[str]], *, as_json: bool) -> int:
    there = {name: not missing(needs) for name, needs in parts.items()}
    if as_json:
        say_json([{"part": name, "installed": there[name], "packages": needs} for name, needs in parts.items()])
    else:
        cells = [(name, "installed" if there[name] else "", ", ".join(needs)) for name, needs in parts.items()]
        say_table(cells, heading=("PART", "STATE", "PACKAGES"))
    return 0


def _install_flags(parser: ArgumentParser) -> None:
    parser.add_argument("part", nargs="*", metavar="PART", help="webui, acp, browser …; none: list them")
    parser.add_argument("--dry-run", action="store_true", help="print the command that would run")


INSTALL = lookup("install", "Install optional parts into Quintet's own environment.", install, _install_flags)
PLUGINS = lookup("plugins", "Installed plugins: what each adds, and why one is not used.", plugins)
