"""Which MCP servers there are: the user's settings, then a trusted project's `.mcp.json`.

The file is the one other agents read: `{"mcpServers": {NAME: {"command": …, "args": […], "env": {…}}}}`, or with
`"type": "http"`, `url` and `headers`. `${NAME}` and `${NAME:-else}` stand for variables of the user's. Where both name
a server, the settings win. A server of the project's needs a yes of its own, and gets no secret of the user's unless
the user's settings name it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.trust_summary import WantedServer, server_line

FILE = ".mcp.json"
PROJECT_SETTINGS = ".quintet/settings.toml"
OFF = "it is switched off"
MOST_SHOWN = 200  # characters of a command line
NAMES = regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp"})
VARIABLE = regex(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class McpEntry(msgspec.Struct):
    """One server of a `.mcp.json`; what other agents add to it is left alone."""

    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    type: str = ""
    network: bool = False
    timeout: float = 60.0
    disabled: bool = False


def in_words(entries: Mapping[str, Any], refused: Callable[[str, str], bool]) -> list[str]:
    """What each server of a project's would start or reach, and get, for the person who is asked."""
    lines = []
    for name, given in entries.items():
        try:
            entry = msgspec.convert(given, McpEntry)
        except msgspec.ValidationError:  # it is not started either
            continue
        command = " ".join((entry.command, *entry.args))[:MOST_SHOWN]
        named = _variables(given)
        kept = tuple(variable for variable in named if refused(name, variable))
        gets = tuple(variable for variable in named if variable not in kept)
        lines.append(server_line(WantedServer(name, command, entry.url, entry.network, gets, kept)))
    return lines


def _variables(given: Any) -> list[str]:
    return list(dict.fromkeys(match[1] for match in VARIABLE.finditer(json.dumps(given, ensure_ascii=False))))
