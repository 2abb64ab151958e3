"""`quintet mcp`, `quintet mcp-server`, and what they take."""

from __future__ import annotations

import sys

from quintet.cli.flags import dial_flags, make_parser, turned

TYPE_CHECKING = False

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    Lookup = Callable[..., Callable[[list[str]], int]]

MCP = "features.mcp.cli"


def mcp_actions(lookup: Lookup) -> dict[str, Callable[[list[str]], int]]:
    return {
        "list": lookup("mcp list", "The MCP servers: yours, and those of a trusted project.", None, MCP),
        "tools": lookup("mcp tools", "What a server has: its tools and resources, or one tool whole.", _server, MCP),
        "call": _call,
        "doctor": lookup(
            "mcp doctor", "Start each server and say how it went; exit code 1 if one cannot be used.", _servers, MCP
        ),
    }


def _server(parser: ArgumentParser) -> None:
    parser.add_argument("server", help="its name")
    parser.add_argument("tool", nargs="?", default="", help="one of its tools, to see its whole schema")


def _servers(parser: ArgumentParser) -> None:
    parser.add_argument("servers", nargs="*", metavar="SERVER", help="only these")


def _call(arguments: list[str]) -> int:
    parser = make_parser("mcp call", "One call of a server's tool by your own hand: through the gate, on record.")
    parser.add_argument("server", help="its name")
    parser.add_argument("tool", help="the tool")
    parser.add_argument("arguments", nargs="?", default="{}", metavar="JSON", help="its arguments, an object")
    dial_flags(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    import asyncio

    from quintet.features.mcp.cli import call_arguments

    return asyncio.run(_made(parsed, call_arguments(parsed)))


async def _made(parsed: Namespace, arguments: str) -> int:
    from quintet.app.open import open_session
    from quintet.domain.dials.axes import Surface
    from quintet.surfaces.one_call import OneCall

    person = sys.stdin is not None and sys.stdin.isatty()
    async with open_session(parsed.directory, surface=Surface.HEADLESS, person=person, axes=turned(parsed)) as session:
        return await OneCall(session, as_json=parsed.json, known=("OWN_TOOLS",)).run("mcp_tool", arguments)


def mcp_server(arguments: list[str]) -> int:
    parser = make_parser(
        "mcp-server", "Offer Quintet's tools to other agents as an MCP server: over stdio, or HTTP on this machine."
    )
    parser.add_argument(
        "--toolsets", default="swe", metavar="LIST", help="whose tools: swe (the default), git, data …; with commas"
    )
    parser.add_argument("--http", type=int, metavar="PORT", help="streamable HTTP on 127.0.0.1; 0 picks a port")
    parser.add_argument(
        "--token-env",
        default="",
        metavar="NAME",
        help="with --http: variable that holds the token callers have to give",
    )
    dial_flags(parser)
    parsed = parser.parse_args(arguments)
    import asyncio

    from quintet.features.mcp.serve import serve

    return asyncio.run(serve(parsed, turned(parsed)))
