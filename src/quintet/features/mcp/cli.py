"""The commands that look at MCP servers: which there are, what they have, and whether they work."""

from __future__ import annotations

import asyncio
import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from quintet.adapters.files.paths import locate
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.open import make_containment
from quintet.cli import session
from quintet.cli.parsing import actions, dial_flags, lookup, make_parser
from quintet.domain.base.errors import NotFound, ToolFailed, UsageError
from quintet.domain.base.json_schema import wanted
from quintet.domain.base.safe_text import visible
from quintet.domain.base.wording import counted, did_you_mean
from quintet.features.mcp.logins import Logins
from quintet.features.mcp.pool import McpPool
from quintet.features.mcp.server_files import OFF, as_told
from quintet.features.mcp.values import Lost, McpOffer, McpServer, ServerRefused
from quintet.features.mcp.wiring import make_mcp
from quintet.surfaces.tables import complain, say, say_json, say_table

NONE_YET = (
    'no MCP servers yet: add one to your settings,\n  [mcp.servers.NAME]\n  command = "…"   # or url = "https://…/mcp"'
)
MOST_COLUMNS = 90

Answer = TypeVar("Answer")


def call_arguments(arguments: Namespace) -> str:
    """The arguments of mcp_tool for a call from the command line."""
    try:
        given = json.loads(arguments.arguments)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the arguments are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise UsageError("the arguments are not a JSON object")
    call = {"command": "call_tool", "server": arguments.server, "tool_name": arguments.tool, "tool_args": given}
    return json.dumps(call)


def mcp_list(arguments: Namespace) -> int:
    servers = _listed(_pool(arguments)[0])
    if arguments.json:
        say_json([as_told(server) for server in servers])
    elif not servers:
        say(NONE_YET.splitlines())
    else:
        rows = [
            (one.name, one.transport, visible(one.target), one.problem or "configured", one.origin) for one in servers
        ]
        say_table(rows, heading=("SERVER", "BY", "WHAT", "STATE", "FROM"))
    return 0


def mcp_tools(arguments: Namespace) -> int:
    offer = _asked(arguments, lambda pool: pool.offer(_named(pool, arguments.server).name))
    if arguments.tool:
        return _one_tool(arguments, offer)
    if arguments.json:
        say_json(msgspec.to_builtins(offer))
        return 0
    say([f"{arguments.server}: {offer.about}", ""])
    rows = [(visible(tool.name), _cut(wanted(tool.schema)), _cut(tool.description)) for tool in offer.tools]
    say_table(rows, heading=("TOOL", "TAKES", "WHAT IT DOES"))
    if offer.resources:
        named = [(visible(one.uri), one.mime, _cut(one.description or one.name)) for one in offer.resources]
        say([""])
        say_table(named, heading=("RESOURCE", "KIND", "WHAT IT IS"))
    return 0


def _one_tool(arguments: Namespace, offer: McpOffer) -> int:
    found = next((tool for tool in offer.tools if tool.name == arguments.tool), None)
    if found is None:
        names = [tool.name for tool in offer.tools]
        raise NotFound(f"{arguments.server} has no tool {arguments.tool}.{did_you_mean(arguments.tool, names)}")
    if arguments.json:
        say_json(msgspec.to_builtins(found))
    else:
        schema = json.dumps(found.schema, indent=2, ensure_ascii=False)
        say(
            [visible(f"{arguments.server}:{found.name}"), *visible(found.description).splitlines(), "", visible(schema)]
        )
    return 0


def mcp_doctor(arguments: Namespace) -> int:
    """Each server started once, all of them together."""

    async def looked(pool: McpPool) -> list[dict[str, Any]]:
        chosen = [_named(pool, name) for name in arguments.servers] or _listed(pool)
        return list(await asyncio.gather(*(_looked(pool, server) for server in chosen)))

    found = _asked(arguments, looked)
    if arguments.json:
        say_json(found)
    elif not found:
        say(NONE_YET.splitlines())
    else:
        rows = [(one["name"], one["state"], visible(one["said"])) for one in found]
        say_table(rows, heading=("SERVER", "STATE", "WHAT IT SAYS"))
        say([visible(line) for one in found for line in _kept(one)])
        places = locate(arguments.directory)
        say(["", f"sandbox  {make_terms(places, config.load(places).settings).sandbox}"])
    return 1 if any(one["state"] == "broken" for one in found) else 0


def _kept(told: dict[str, Any]) -> list[str]:
    """Where a program keeps what it writes, and what of its settings it cannot see."""
    lines = [f"{told['name']} keeps its files in {told['home']}"] if told.get("home") else []
    if concealed := told.get("hidden"):
        lines.append(f"{told['name']} names files that the sandbox hides from it: {', '.join(concealed)}")
    return lines


async def _looked(pool: McpPool, server: McpServer) -> dict[str, Any]:
    began = time.monotonic()
    told: dict[str, Any] = {**as_told(server), "state": "broken", "tools": 0, "resources": 0}
    if server.problem == OFF:
        return {**told, "state": "off", "said": OFF, "seconds": 0.0}
    try:
        offer = await pool.offer(server.name)
    except ToolFailed as error:
        return {**told, "said": " ".join(str(error).split()), "seconds": round(time.monotonic() - began, 2)}
    seconds = round(time.monotonic() - began, 2)
    told |= {"home": pool.home(server), "hidden": pool.hidden(server)}
    has = f"{counted(len(offer.tools), 'tool')}, {counted(len(offer.resources), 'resource')}"
    said = f"{offer.about}: {has}, {seconds:g} s"
    counts = {"tools": len(offer.tools), "resources": len(offer.resources)}
    return {**told, **counts, "state": "ready", "said": said, "seconds": seconds}


def _listed(pool: McpPool) -> list[McpServer]:
    """The servers; what is wrong with the files that name them is said aside."""
    servers, notes = pool.listed()
    for note in notes:
        complain(note)
    return servers


def _named(pool: McpPool, name: str) -> McpServer:
    servers, _ = pool.listed()
    found = next((server for server in servers if server.name == name), None)
    if found is None:
        raise NotFound(f"there is no server {name}.{did_you_mean(name, [one.name for one in servers])}")
    return found


def _asked(arguments: Namespace, question: Callable[[McpPool], Awaitable[Answer]]) -> Answer:
    """An answer of servers that are started for it and ended after it."""

    async def asked() -> Answer:
        pool, close = _pool(arguments)
        try:
            return await question(pool)
        finally:
            await pool.close()
            await close()

    return asyncio.run(asked())


def _pool(arguments: Namespace) -> tuple[McpPool, Callable[[], Awaitable[None]]]:
    """The servers, and how to let go of what contains them."""
    places = locate(arguments.directory)
    loaded = config.load(places)
    terms = make_terms(places, loaded.settings)
    containment = make_containment(places, loaded.settings, terms)
    return make_mcp(places, loaded, containment, redacted=Vault(places, loaded.settings).text), containment.close


def _cut(text: str) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= MOST_COLUMNS else f"{text[: MOST_COLUMNS - 1]}…"


def _server(parser: ArgumentParser) -> None:
    parser.add_argument("server", help="its name")
    parser.add_argument("tool", nargs="?", default="", help="one of its tools, to see its full schema")


def _servers(parser: ArgumentParser) -> None:
    parser.add_argument("servers", nargs="*", metavar="SERVER", help="only these")


def _call(arguments: list[str]) -> int:
    parser = make_parser(
        "mcp call", "Call a server's tool manually; rules and approval hold as in a session, and the call is recorded."
    )
    parser.add_argument("server", help="its name")
    parser.add_argument("tool", help="the tool")
    parser.add_argument("arguments", nargs="?", default="{}", metavar="JSON", help="its arguments, an object")
    dial_flags(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    return session.call(parsed, "mcp_tool", call_arguments(parsed))


def mcp_login(arguments: Namespace) -> int:
    """Log in to an HTTP server, in the user's own browser."""
    server = _http_server(arguments)
    places = locate(arguments.directory)

    async def logged_in() -> McpOffer:
        oauth = import_module("quintet.features.mcp.oauth")
        connection = import_module("quintet.features.mcp.connection")
        conversation = import_module("quintet.features.mcp.conversation")
        async with oauth.Login(server, Logins(places), _show_page) as provider:
            made = await connection.connect(server, places.root, _no_program, provider)
            try:
                offer: McpOffer = await conversation.Conversation(made).offer()
            finally:
                await made.close()
            return offer

    try:
        offer = asyncio.run(logged_in())
    except (Lost, ServerRefused) as error:
        raise ToolFailed(f"{server.name}: not logged in: {error}") from None
    if Logins(places).read(server) is None:
        say([f"{server.name} needs no login: {offer.about}"])
    else:
        say([f"logged in to {server.name}: {offer.about}; `quintet mcp logout {server.name}` forgets it"])
    return 0


def mcp_logout(arguments: Namespace) -> int:
    if not Logins(locate(arguments.directory)).forget(arguments.server):
        raise NotFound(f"there is no login for {arguments.server}")
    say([f"the login for {arguments.server} is forgotten here; the server itself may still know the token"])
    return 0


def _http_server(arguments: Namespace) -> McpServer:
    server = _named(_pool(arguments)[0], arguments.server)
    if server.problem:
        raise UsageError(f"{server.name} cannot be used: {server.problem}")
    if not server.url:
        raise UsageError(f"{server.name} is a program: only a server with a url has a login")
    return server


def _show_page(address: str) -> None:
    where = urlsplit(address)
    say([f"Open this page, which is at {visible(where.netloc)}, and log in there:", "", visible(address), ""])


async def _no_program() -> Any:
    raise AssertionError("a server with a url is not a program")


def _login(parser: ArgumentParser) -> None:
    parser.add_argument("server", help="its name")


MCP = actions(
    "mcp",
    {
        "list": lookup("mcp list", "List the MCP servers: yours, and those of a trusted project.", mcp_list),
        "tools": lookup(
            "mcp tools", "Show what a server has: its tools and resources, or one tool in full.", mcp_tools, _server
        ),
        "call": _call,
        "login": lookup("mcp login", "Use your browser to log in to a server that has a URL.", mcp_login, _login),
        "logout": lookup("mcp logout", "Forget the login for a server.", mcp_logout, _login),
        "doctor": lookup(
            "mcp doctor",
            "Start each server and show the result; exit code 1 if one cannot be used.",
            mcp_doctor,
            _servers,
        ),
    },
)
