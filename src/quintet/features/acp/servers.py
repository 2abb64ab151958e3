"""MCP servers that a client names, as settings of the sessions it opens. Pure.

They are the editor's, and no setting of the user's: they get no variable of the user's, no network of their own, and
not the name of a server that the settings have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from acp.schema import HttpMcpServer, McpServerStdio, SseMcpServer

from quintet.adapters.settings.mcp_servers import NAMES, VARIABLE

Settings = dict[str, Any]


def as_settings(servers: Sequence[Any], taken: Collection[str]) -> tuple[Settings, list[str]]:
    """Settings by their keys, and why a server is left out. `taken` are the names that the settings have."""
    found: Settings = {}
    left_out: list[str] = []
    for server in servers:
        name = getattr(server, "name", "")
        if why := _problem(server, name, {*taken, *(key.split(".")[2] for key in found)}):
            left_out.append(f"The editor's MCP server {name!r} is not used: {why}.")
            continue
        found |= {f"mcp.servers.{name}.{key}": value for key, value in _values(server).items()}
    return found, left_out


def _values(server: Any) -> Mapping[str, Any]:
    match server:
        case McpServerStdio(command=command, args=args, env=env):
            given = {one.name: one.value for one in env}
            return {"command": command, "args": tuple(args), "env": given, "by_editor": True}
        case HttpMcpServer(url=url, headers=headers) | SseMcpServer(url=url, headers=headers):
            older = {"protocol": "sse"} if isinstance(server, SseMcpServer) else {}
            return {"url": url, "headers": {one.name: one.value for one in headers}, **older, "by_editor": True}
    return {}


def _problem(server: Any, name: str, taken: Collection[str]) -> str:
    values = _values(server)
    if not values:
        return "only servers over stdin and stdout, streamable HTTP or HTTP with SSE can be used"
    if not NAMES.fullmatch(name) or "." in name:
        return "its name may have letters, digits, - and _ only"
    if name in taken:
        return "your settings have a server of that name"
    texts = [
        text
        for value in values.values()
        for text in (value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,))
        if isinstance(text, str)
    ]
    if any(VARIABLE.search(text) for text in texts):
        return "it asks for one of your variables (${…}); configure the server in your own settings to allow that"
    return ""
