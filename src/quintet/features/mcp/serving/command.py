"""`quintet mcp-server`: a session of surface rpc with nobody attached, and its tools offered to other agents."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Any

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.processes.python_environment import package_part
from quintet.adapters.settings import layers as config
from quintet.adapters.settings import user_tools
from quintet.adapters.settings.trust import trust_of
from quintet.app.open import open_session
from quintet.app.tool_registry import BY_NAME
from quintet.cli.parsing import dial_flags, make_parser, turned
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.axes import AxesChange, Surface
from quintet.domain.turn.tool_menu import TOOLSETS, toolsets_of, with_own
from quintet.domain.turn.tool_spec import ToolSpec
from quintet.engine.session.session import Session
from quintet.features.registry import mcp_offers
from quintet.surfaces.terminal import told_to_end
from quintet.tools.images import FOLDER as IMAGES

HOST = "127.0.0.1"


async def serve(arguments: Namespace, dials: AxesChange) -> int:
    places = locate(arguments.directory)
    specs = _specs(places, arguments.toolsets.replace(",", " ").split())
    token = _token(arguments)
    part = package_part("mcp", "mcp", "mcp")
    if not part.ready:
        raise UsageError(f"an MCP server needs a package that is not installed: {part.missing.removeprefix('mcp: ')}")
    with _listening(arguments.http) as listening:
        from quintet.features.mcp.serving.lanes import Lanes
        from quintet.features.mcp.serving.offers import Offers, ProjectOffers
        from quintet.features.mcp.serving.surface import McpSurface

        seen: dict[str, str] = {}  # what one session has read, another may write

        def opened(axes: AxesChange) -> AbstractAsyncContextManager[Session]:
            return open_session(arguments.directory, surface=Surface.RPC, axes=axes, seen=seen)

        with told_to_end(signal.SIGINT) as told:
            async with opened(dials) as session:
                images = os.path.join(places.outputs, IMAGES)
                offers = Offers(ProjectOffers(places), *_added(places))
                surface = McpSurface(Lanes(session, opened), specs, offers, places.name, images)
                sys.stderr.write(f"quintet: session {session.id}, {len(specs)} tools\n")
                return await (surface.over_http(listening, told, token) if listening else surface.over_stdio(told))


def _added(places: Places) -> Iterator[Any]:
    """What features offer beside; of one that cannot, it is said why."""
    for name, offer in mcp_offers(config.load(places).settings):
        if isinstance(offer, Exception):
            sys.stderr.write(f"quintet: {name} offers nothing: {type(offer).__name__}: {offer}\n")
        else:
            yield offer


def _listening(port: int | None) -> AbstractContextManager[socket.socket | None]:
    if port is None:
        return nullcontext()
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", "") or "a port is a number from 0 to 65535"
        raise UsageError(f"--http {port}: {why.partition(' (')[0]}", hint="0 picks a free port.") from None


def _specs(places: Places, toolsets: list[str]) -> list[ToolSpec]:
    """The tools of these toolsets, the user's own and those of plugins among them."""
    for name in toolsets:
        if name not in TOOLSETS:
            known = ", ".join(TOOLSETS)
            raise UsageError(f'--toolsets "{name}": not one of {known}.{did_you_mean(name, TOOLSETS)}')
    own = user_tools.load(places, trust_of(places.trust_file, places.root))
    everything = {**BY_NAME, **own.specs}
    homes = with_own({name: spec.toolset for name, spec in everything.items() if spec.toolset})
    return [spec for name, spec in everything.items() if set(toolsets_of(name, homes)) & set(toolsets)]


def _token(arguments: Namespace) -> str:
    if not arguments.token_env:
        return ""
    if arguments.http is None:
        raise UsageError("--token-env goes with --http PORT")
    token = os.environ.get(arguments.token_env, "")
    if not token:
        raise UsageError(f"--token-env {arguments.token_env}: there is no such variable, or it is empty")
    return token


def mcp_server(arguments: list[str]) -> int:
    parser = make_parser(
        "mcp-server", "Offer Quintet's tools to other agents as an MCP server: over stdio, or HTTP on this machine."
    )
    parser.add_argument(
        "--toolsets",
        default="swe",
        metavar="LIST",
        help="the toolsets to offer, separated by commas: swe (the default), git, data …",
    )
    parser.add_argument("--http", type=int, metavar="PORT", help="streamable HTTP on 127.0.0.1; 0 picks a port")
    parser.add_argument(
        "--token-env",
        default="",
        metavar="NAME",
        help="with --http: the variable that contains the token that callers must send",
    )
    dial_flags(parser)
    parsed = parser.parse_args(arguments)
    return asyncio.run(serve(parsed, turned(parsed)))
