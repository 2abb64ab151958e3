"""mcp_tool: the tools and resources of other programs, behind one tool, so that a big server costs no context."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from quintet.domain.base import wire_json
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.json_schema import wanted
from quintet.domain.base.wording import counted
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.known_addresses import TEMPLATE
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import Outward, ToolResult, Touch
from quintet.features.mcp.answers import MOST_CHARACTERS, answered
from quintet.features.mcp.values import McpOffer, McpTool
from quintet.tools.declare import tool

if TYPE_CHECKING:
    from quintet.features.mcp.pool import McpPool

MOST_DESCRIBED = 300  # of one tool or resource in a list
HOW_TO_ADD = "add one to your settings: [mcp.servers.NAME] with command and args, or url"


def _touch(arguments: dict[str, Any]) -> Touch:
    if arguments["command"] == "list_servers":
        return Touch(frozenset())
    server = arguments.get("server") or ""
    if arguments["command"] == "read_resource":  # one that the server did not list is composed: known_resources
        return Touch(
            frozenset({Effect.FETCH}), server=server, outward=Outward(resource=arguments.get("resource_uri") or "")
        )
    if arguments["command"] != "call_tool":
        return Touch(frozenset({Effect.FETCH}), server=server)
    return Touch(frozenset({Effect.NETWORK}), asks="the server decides what its tool does")


@tool(effects={Effect.FETCH, Effect.NETWORK}, touch=_touch, needs=("mcp",), service="mcp", pauses=True)
async def mcp_tool(
    bench: Workbench,
    command: Literal["list_servers", "list_tools", "call_tool", "read_resource"],
    server: str = "",
    tool_name: str = "",
    tool_args: dict[str, Any] | str | None = None,
    resource_uri: str = "",
) -> ToolResult:
    """Use the tools and resources of MCP servers that the user configured.

    :command: list_tools shows a server's tools and resources, with tool_name all about one tool
    :server: name of the server
    :tool_name: name of the server's tool
    :tool_args: the tool's arguments, an object
    :resource_uri: what to read
    """
    servers: McpPool = bench.service("mcp")
    if command == "list_servers":
        return _servers(servers)
    server = server or _only(servers)
    if command == "list_tools":
        return _offer(server, await servers.offer(server), tool_name)
    if command == "read_resource":
        if not resource_uri:
            raise ToolFailed("resource_uri: which one? list_tools shows them")
        return answered(bench, server, await servers.read(server, resource_uri))
    if not tool_name:
        raise ToolFailed("tool_name: which one? list_tools shows them")
    answer = await servers.call(server, tool_name, _arguments(tool_args), bench.progress, bench.ask, bench.advisers)
    return answered(bench, server, answer)


def _arguments(given: dict[str, Any] | str | None) -> dict[str, Any]:
    """Some models write the object as text."""
    if isinstance(given, str) and given.strip():
        try:
            given = wire_json.decode(given)
        except ValueError as error:
            raise ToolFailed(f"tool_args: expected an object, but this text is not JSON ({error})") from None
    if given and not isinstance(given, dict):
        raise ToolFailed("tool_args: an object is expected")
    return given if isinstance(given, dict) else {}


def _only(servers: McpPool) -> str:
    names = [server.name for server in servers.listed()[0] if not server.problem]
    if len(names) == 1:
        return names[0]
    raise ToolFailed(f"server: which one? Available: {', '.join(names)}" if names else f"no server: {HOW_TO_ADD}")


def _servers(servers: McpPool) -> ToolResult:
    listed, notes = servers.listed()
    lines = [f"{one.name}  {one.transport}  {one.problem or one.target}" for one in listed]
    lines += [f"({note})" for note in notes]
    return ToolResult(
        "\n".join(lines) or f"no MCP server is configured; {HOW_TO_ADD}", summary=counted(len(listed), "server")
    )


def _offer(server: str, offer: McpOffer, wanted: str) -> ToolResult:
    if wanted:
        found = next((one for one in offer.tools if one.name == wanted), None)
        if found is None:
            raise ToolFailed(f"{server} has no tool {wanted}; it has: {', '.join(one.name for one in offer.tools)}")
        schema = json.dumps(found.schema, indent=2, ensure_ascii=False)
        return ToolResult(_bounded(f"{server}:{found.name}\n{found.description}\n\n{schema}"), summary=found.name)
    lines = [f"{server}: {offer.about}", *([_cut(offer.instructions, 2_000)] if offer.instructions else [])]
    lines += ["", "tools", *(f"- {_signature(one)}: {_cut(one.description)}".rstrip(": ") for one in offer.tools)]
    if offer.resources:
        lines += ["", "resources"]
        for one in offer.resources:
            about = " — ".join(filter(None, (one.name, _cut(one.description))))
            lines.append(f"- {one.uri}{TEMPLATE if one.template else ''}: {about}".rstrip(": "))
    summary = f"{counted(len(offer.tools), 'tool')}, {counted(len(offer.resources), 'resource')}"
    return ToolResult(_bounded("\n".join(lines)), summary=summary)


def _signature(one: McpTool) -> str:
    """name(needed, optional?): enough to choose by; list_tools with tool_name shows the rest."""
    names = wanted(one.schema)
    return f"{one.name}({'' if names == 'nothing' else _cut(names)})"


def _cut(text: str, most: int = MOST_DESCRIBED) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"


def _bounded(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n… {len(text) - MOST_CHARACTERS} characters omitted; ask about one with tool_name"
