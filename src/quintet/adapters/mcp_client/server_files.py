"""Which MCP servers there are: the user's settings, then a trusted project's `.mcp.json`.

The file is the one other agents read: `{"mcpServers": {NAME: {"command": …, "args": […], "env": {…}}}}`, or with
`"type": "http"`, `url` and `headers`. `${NAME}` and `${NAME:-else}` stand for variables of the user's. Where both name
a server, the settings win.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from quintet.domain.mcp_port import McpServer
from quintet.domain.mcp_settings import McpServerSettings
from quintet.domain.regex import regex

FILE = ".mcp.json"
OFF = "it is switched off"
MOST_BYTES = 1_000_000
NAMES = regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp"})
_VARIABLE = regex(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class _Entry(msgspec.Struct):
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


def servers(
    root: str, own: Mapping[str, McpServerSettings], trusted: bool, variables: Mapping[str, str]
) -> tuple[list[McpServer], list[str]]:
    """Every server, the user's own first, and what is wrong with the project's file."""
    found = {name: _made(name, "your settings", _entry(given), variables) for name, given in own.items()}
    theirs, notes = _of_project(root, trusted)
    for name, entry in theirs.items():
        if name in found:
            notes.append(f"{FILE}: {name} is passed over: your settings have a server of that name")
        elif isinstance(entry, str):
            found[name] = McpServer(name, FILE, problem=entry)
        else:
            found[name] = _made(name, FILE, entry, variables)
    return list(found.values()), notes


def _entry(given: McpServerSettings) -> _Entry:
    return _Entry(
        given.command,
        list(given.args),
        given.env,
        given.url,
        given.headers,
        network=given.network,
        timeout=given.timeout,
        disabled=not given.enabled,
    )


def _of_project(root: str, trusted: bool) -> tuple[dict[str, _Entry | str], list[str]]:
    """The project's servers, or of one what is wrong with it; and what is wrong with the file."""
    path = os.path.join(root, FILE)
    if not os.path.isfile(path):
        return {}, []
    if not trusted:
        return {}, [f"{FILE} is ignored until you trust this folder (`quintet trust`)"]
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            return {}, [f"{FILE}: more than {MOST_BYTES // 1000} kB is no list of servers"]
        table = json.loads(data).get("mcpServers", {})
        entries = table.items()
    except OSError as error:
        return {}, [f"{FILE}: cannot be read ({error.strerror})"]
    except (ValueError, AttributeError, RecursionError) as error:
        return {}, [f'{FILE}: {{"mcpServers": {{NAME: {{…}}}}}} is wanted ({error})']
    found: dict[str, _Entry | str] = {}
    for name, given in entries:
        try:
            found[name] = msgspec.convert(given, _Entry)
        except msgspec.ValidationError as error:
            found[name] = f"{FILE}: {name}: {_plainly(error)}"
    return found, []


def _plainly(error: msgspec.ValidationError) -> str:
    return str(error).replace("`", "").replace("Expected", "wanted").replace(", got", ", found")


def _made(name: str, origin: str, entry: _Entry, variables: Mapping[str, str]) -> McpServer:
    missing: list[str] = []

    def filled(text: str) -> str:
        def value(match: re.Match[str]) -> str:
            if match[1] not in variables and match[2] is None:
                missing.append(match[1])
            return variables.get(match[1]) or match[2] or ""

        return _VARIABLE.sub(value, text)

    command = tuple(filled(word) for word in (entry.command, *entry.args)) if entry.command else ()
    env = {key: filled(value) for key, value in entry.env.items()}
    url = filled(entry.url)
    headers = {key: filled(value) for key, value in entry.headers.items()}
    problem = _problem(name, entry, url, missing)
    return McpServer(name, origin, command, env, url, headers, entry.network, max(entry.timeout, 1.0), problem)


def _problem(name: str, entry: _Entry, url: str, missing: Iterable[str]) -> str:
    """Why the server cannot be used; empty if it can."""
    if not NAMES.fullmatch(name):
        return "its name is not one of letters, digits, _ . and -, at most 64"
    if entry.disabled:
        return OFF
    if bool(entry.command) == bool(entry.url):
        return "a command or a url is wanted: one of the two"
    if entry.type == "sse":
        return "it speaks sse, which MCP has given up; streamable HTTP is wanted (type http)"
    if entry.type and entry.type not in (HTTP if entry.url else ("stdio",)):
        return f'type "{entry.type}": stdio goes with a command, http with a url'
    if entry.url and not url.startswith(("http://", "https://")):
        return "its url is no http address"
    if unset := list(dict.fromkeys(missing)):
        return f"no such variable: {', '.join(unset)}"
    return ""


def as_told(server: McpServer) -> dict[str, Any]:
    """A server for listings: what it is, without the values of its variables and headers."""
    return {
        "name": server.name,
        "from": server.origin,
        "transport": server.transport,
        "target": server.target,
        "env": list(server.env),
        "headers": list(server.headers),
        "network": server.network or server.transport == "http",
        "timeout": server.timeout,
        "problem": server.problem,
    }
