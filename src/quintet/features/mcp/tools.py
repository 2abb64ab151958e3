"""mcp_tool: the tools and resources of other programs, behind one tool, so that a big server costs no context."""

from __future__ import annotations

import json
import mimetypes
import os
import time
from typing import TYPE_CHECKING, Any, Literal

from quintet.domain.base import wire_json
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.json_schema import wanted
from quintet.domain.base.wording import counted
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.known_addresses import TEMPLATE
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.messages import KeptImage
from quintet.domain.turn.tool_spec import CallStatus, Outward, ToolResult, Touch
from quintet.features.mcp.values import McpAnswer, McpOffer, McpPart, McpTool
from quintet.tools.declare import tool
from quintet.tools.files import kept
from quintet.tools.images import kept_image

if TYPE_CHECKING:
    from quintet.features.mcp.pool import McpPool

MOST_CHARACTERS = 30_000
MOST_DESCRIBED = 300  # of one tool or resource in a list
MOST_FILES = 20  # that one answer may leave
MOST_IMAGES = 4  # of those, that the model is shown
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
    return Touch(frozenset({Effect.NETWORK}), asks="what a server's tool does is up to the server")


@tool(effects={Effect.FETCH, Effect.NETWORK}, touch=_touch, needs=("mcp",), service="mcp")
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
        return _answer(bench, server, await servers.read(server, resource_uri))
    if not tool_name:
        raise ToolFailed("tool_name: which one? list_tools shows them")
    return _answer(bench, server, await servers.call(server, tool_name, _arguments(tool_args), bench.progress))


def _arguments(given: dict[str, Any] | str | None) -> dict[str, Any]:
    """Some models write the object as text."""
    if isinstance(given, str) and given.strip():
        try:
            given = wire_json.decode(given)
        except ValueError as error:
            raise ToolFailed(f"tool_args: an object is expected, and this text is no JSON ({error})") from None
    if given and not isinstance(given, dict):
        raise ToolFailed("tool_args: an object is expected")
    return given if isinstance(given, dict) else {}


def _only(servers: McpPool) -> str:
    names = [server.name for server in servers.listed()[0] if not server.problem]
    if len(names) == 1:
        return names[0]
    raise ToolFailed(f"server: which one? There are: {', '.join(names)}" if names else f"no server: {HOW_TO_ADD}")


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


def _answer(bench: Workbench, server: str, answer: McpAnswer) -> ToolResult:
    pieces, files = [], 0
    images: list[KeptImage] = []
    for part in answer.parts:
        if part.data:
            files += 1
            if len(images) < MOST_IMAGES and (image := kept_image(bench, part.data)):
                images.append(image)
            pieces.append(_file(bench, server, part, files) if files <= MOST_FILES else "(one more file, not kept)")
        elif part.uri:
            pieces.append(f"[{part.uri}{f' {part.mime}' if part.mime else ''}]\n{part.text}".rstrip())
        else:
            pieces.append(part.text)
    if answer.structured is not None and not _says(answer.parts, answer.structured):
        pieces.append(json.dumps(answer.structured, indent=2, ensure_ascii=False))
    pieces += [f"({note})" for note in answer.notes]
    text = "\n".join(pieces) or "(nothing)"
    if len(text) > MOST_CHARACTERS:
        whole = kept(bench, f"{time.time_ns()}-{server}.txt", text)
        half = MOST_CHARACTERS // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters left out; the whole is in {whole} …\n{text[-half:]}"
    status = CallStatus.ERROR if answer.failed else CallStatus.OK
    summary = "failed" if answer.failed else counted(len(text.splitlines()), "line")
    left = f", {counted(files, 'file')}" if files else ""
    return ToolResult(text, status, summary=summary + left, images=tuple(images))


def _says(parts: tuple[McpPart, ...], structured: Any) -> bool:
    """Whether a text says the same: servers give both, for clients that know only one."""
    for part in parts:
        try:
            said = wire_json.decode(part.text)
        except ValueError:  # no JSON, or nested without an end
            said = part.text
        if structured in (said, part.text, {"result": said}, {"result": part.text}):
            return True
    return False


def _file(bench: Workbench, server: str, part: McpPart, number: int) -> str:
    """The data of a part kept in a file, and where."""
    ending = mimetypes.guess_extension(part.mime.partition(";")[0].strip()) or ".bin"
    os.makedirs(bench.outputs, mode=0o700, exist_ok=True)
    path = f"{bench.outputs}/{time.time_ns()}-{server}-{number}{ending}"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(part.data)
    about = " ".join(filter(None, (part.mime, part.uri, f"{len(part.data)} bytes")))
    return f"[{about}: {path}]"


def _cut(text: str, most: int = MOST_DESCRIBED) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"


def _bounded(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    return (
        f"{text[:MOST_CHARACTERS]}\n… {len(text) - MOST_CHARACTERS} characters left out; ask about one with tool_name"
    )
