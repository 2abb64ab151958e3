"""Which MCP servers there are: the user's settings, then a trusted project's `.mcp.json`.

Where both name a server, the settings win. A server of the project's needs a yes of its own, and gets no secret of the
user's unless the user's settings name it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from quintet.adapters.settings.mcp_servers import FILE, VARIABLE, McpEntry
from quintet.adapters.settings.trust import read_own, server_entries, server_piece, written
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.plain_kinds import plainly
from quintet.domain.permission.trusted_content import Trust
from quintet.features.mcp.sandboxed import refused_folder
from quintet.features.mcp.settings import McpServerSettings
from quintet.features.mcp.values import EDITOR, OWN_SETTINGS, McpServer

PROJECT_SETTINGS = ".quintet/settings.toml"
OFF = "it is switched off"
NAMES = regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp", "sse"})
SKILL_PLACES = tuple(f"{whose}SKILL_{what}" for whose in ("", "CLAUDE_", "QUINTET_") for what in ("ROOT", "DIR"))

Fills = Callable[[str, str], str]  # why a server may not have a variable; empty if it may


def servers(
    root: str,
    own: Mapping[str, McpServerSettings],
    trust: Trust,
    variables: Mapping[str, str],
    *,
    theirs: Collection[str] = (),
    refuses: Fills = lambda server, variable: "",
    private: Sequence[str] = (),
) -> tuple[list[McpServer], list[str]]:
    """Every server, the user's own first, and what is wrong with the project's file.

    `theirs` are those of `own` that the project's settings name. `refuses` is asked about each variable that a file of
    the project's wants. `private` is what no folder that a server is given may hold.
    """
    found = {}
    for name, given in own.items():
        origin = PROJECT_SETTINGS if name in theirs else EDITOR if given.by_editor else OWN_SETTINGS
        made = _made(name, origin, _entry(given), variables, refuses if name in theirs else None)
        problem = made.problem or refused_folder((*given.folders, *given.write), root, private)
        secret = VARIABLE.sub(lambda match: variables.get(match[1]) or match[2] or "", given.client_secret)
        found[name] = msgspec.structs.replace(
            made,
            folders=given.folders,
            write=given.write,
            client_id=given.client_id,
            client_secret=secret,
            scope=given.scope,
            sampling=given.sampling,
            older=made.older or ("protocol" if given.protocol == "2025-11-25" else ""),
            problem=problem,
        )
    brought, notes = _of_project(root, trust)
    for name, entry in brought.items():
        if name in found:
            notes.append(f"{FILE}: {name} is ignored: your settings have a server with that name")
        elif isinstance(entry, str):
            found[name] = McpServer(name, FILE, problem=entry)
        else:
            found[name] = _made(name, FILE, entry, variables, refuses)
    return list(found.values()), notes


def _entry(given: McpServerSettings) -> McpEntry:
    return McpEntry(
        given.command,
        list(given.args),
        given.env,
        given.url,
        given.headers,
        type="sse" if given.protocol == "sse" and given.url else "",
        network=given.network,
        timeout=given.timeout,
        disabled=not given.enabled,
    )


def _of_project(root: str, trust: Trust) -> tuple[dict[str, McpEntry | str], list[str]]:
    """The project's servers, or of one what is wrong with it; and what is wrong with the file."""
    data = read_own(root, FILE)
    if data is None:
        return {}, []
    if not trust.trusted:
        return {}, [f"{FILE} is ignored until you trust this folder (`quintet trust`)"]
    given, notes = server_entries(data)
    found: dict[str, McpEntry | str] = {}
    for name, entry in given.items():
        if not trust.covers(server_piece(name), written(entry)):
            found[name] = "it is new or changed since you trusted this folder (`quintet trust`)"
            continue
        try:
            found[name] = msgspec.convert(entry, McpEntry)
        except msgspec.ValidationError as error:
            found[name] = f"{FILE}: {name}: {plainly(error)}"
    return found, notes


def servers_of_skill(
    origin: str,
    folder: str,
    given: Mapping[str, Any],
    variables: Mapping[str, str],
    refuses: Fills,
    root: str,
    private: Sequence[str],
) -> list[McpServer]:
    """The servers of a skill's `mcp.json`, bound as those of a project are. `folder` is the skill's, to be read."""
    found = []
    around = {**variables, **dict.fromkeys(SKILL_PLACES, folder)}
    for name, entry in given.items():
        try:
            made = _made(name, origin, msgspec.convert(entry, McpEntry), around, refuses)
        except msgspec.ValidationError as error:
            found.append(McpServer(name, origin, problem=plainly(error)))
            continue
        problem = made.problem or refused_folder((folder,), root, private)
        found.append(msgspec.structs.replace(made, folders=(folder,), problem=problem))
    return found


def _made(
    name: str, origin: str, entry: McpEntry, variables: Mapping[str, str], refuses: Fills | None = None
) -> McpServer:
    missing: list[str] = []
    refused: list[str] = []

    def filled(text: str) -> str:
        def value(match: re.Match[str]) -> str:
            if refuses and match[1] in variables and (why := refuses(name, match[1])):
                refused.append(why)
                return ""
            if match[1] not in variables and match[2] is None:
                missing.append(match[1])
            return variables.get(match[1]) or match[2] or ""

        return VARIABLE.sub(value, text)

    command = tuple(filled(word) for word in (entry.command, *entry.args)) if entry.command else ()
    env = {key: filled(value) for key, value in entry.env.items()}
    url = filled(entry.url)
    headers = {key: filled(value) for key, value in entry.headers.items()}
    problem = _problem(name, entry, url, missing) or next(iter(refused), "")
    if refused:  # nothing of it is made up
        command, env, url, headers = (), {}, "", {}
    made = McpServer(name, origin, command, env, url, headers, entry.network, max(entry.timeout, 1.0), problem)
    return msgspec.structs.replace(made, older="sse" if entry.type == "sse" else "")


def _problem(name: str, entry: McpEntry, url: str, missing: Iterable[str]) -> str:
    """Why the server cannot be used; empty if it can."""
    if not NAMES.fullmatch(name):
        return "its name may have letters, digits, _ . and -, at most 64"
    if entry.disabled:
        return OFF
    if bool(entry.command) == bool(entry.url):
        return "expected a command or a url: one of the two"
    if entry.type and entry.type not in (HTTP if entry.url else ("stdio",)):
        return f'type "{entry.type}": stdio needs a command, http and sse need a url'
    if entry.url and not url.startswith(("http://", "https://")):
        return "its url is not an http address"
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
        "network": server.network or bool(server.url),
        "folders": list(server.folders),
        "write": list(server.write),
        "timeout": server.timeout,
        "problem": server.problem,
    }
