"""The surface that other agents call: a session's tools as an MCP server, over stdio or streamable HTTP on loopback.

Each call is a turn of the session, by the same gate, rules, sandbox and journal as everybody's; one at a time. Nobody
is attached to be asked, so what would be asked is not run, and the caller is told why. Which tools there are follows
the dials.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server

from quintet import __version__
from quintet.domain.base.errors import QuintetError
from quintet.domain.dials import badge
from quintet.domain.input.slash_line import format_own_call
from quintet.domain.journal import protocol as p
from quintet.domain.permission import gate
from quintet.domain.permission.effects import READING
from quintet.domain.turn.tool_spec import CallStatus, ToolSpec
from quintet.engine.session.session import Session
from quintet.surfaces.terminal import lines_of_input

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

PATH = "/mcp"
PATIENCE_SECONDS = 3  # with callers that keep listening, at the end
MOST_TOLD = 200  # characters of a sign of life
INSTRUCTIONS = """\
Quintet's tools on the project {project}, at {badge}. Every call goes through its gate and is on record; what its \
dials do not allow without approval is not run, and the answer says why."""

Application = Callable[..., Awaitable[None]]


class McpSurface:
    """`specs` are the tools that are offered, as far as the dials let them be of any use."""

    def __init__(self, session: Session, specs: Sequence[ToolSpec], project: str) -> None:
        self._session = session
        self._specs = {spec.name: spec for spec in specs}
        self._turn = asyncio.Lock()
        about = INSTRUCTIONS.format(project=project, badge=badge.full(session.state.axes))
        self._server: Server[dict[str, Any]] = Server(
            "quintet", version=__version__, instructions=about, on_list_tools=self._list, on_call_tool=self._call
        )

    async def over_stdio(self, told: asyncio.Event) -> int:
        """Until the input ends, or it is told to end."""

        async def served() -> None:
            async with stdio_server(_own_input()) as (read, write):  # type: ignore[arg-type]
                options = self._server.create_initialization_options(NotificationOptions())
                await self._server.run(read, write, options)

        serving, ending = asyncio.create_task(served()), asyncio.create_task(told.wait())
        await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not serving.done():
            await self._interrupted()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        else:
            serving.result()
        return 0

    async def _interrupted(self) -> None:
        with contextlib.suppress(QuintetError):
            await self._session.submit(p.Interrupt())

    async def over_http(self, listening: socket.socket, told: asyncio.Event, token: str = "") -> int:
        import uvicorn

        class Serving(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Generator[None, None, None]:
                yield  # its own would end the process before the session is closed

        async def ended() -> None:
            await told.wait()
            await self._interrupted()
            server.should_exit = True

        host, port = listening.getsockname()
        application: Application = self._server.streamable_http_app(host=host)
        config = uvicorn.Config(_guarded(application, token), log_level="warning", lifespan="on", ws="none")
        config.timeout_graceful_shutdown = PATIENCE_SECONDS
        server = Serving(config)
        sys.stderr.write(f"quintet: an MCP server at http://{host}:{port}{PATH}\n")
        sys.stderr.flush()
        ending = asyncio.create_task(ended())
        await server.serve(sockets=[listening])
        ending.cancel()
        return 0

    def _offered(self) -> dict[str, ToolSpec]:
        axes = self._session.state.axes
        return {name: spec for name, spec in self._specs.items() if gate.visible(spec, axes)}

    async def _list(
        self, context: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = [
            types.Tool(
                name=spec.name,
                description=spec.description,
                input_schema=spec.schema(),
                annotations=types.ToolAnnotations(read_only_hint=spec.effects <= READING),
            )
            for spec in self._offered().values()
        ]
        return types.ListToolsResult(tools=tools)

    async def _call(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        offered = self._offered()
        if params.name not in offered:
            return _said(f"there is no tool {params.name} here. There are: {', '.join(offered)}", failed=True)
        try:
            async with self._turn:
                return await self._made(params.name, json.dumps(params.arguments or {}), context)
        except QuintetError as error:
            return _said(str(error), failed=True)

    async def _made(self, tool: str, arguments: str, context: ServerRequestContext[Any, Any]) -> types.CallToolResult:
        submission = await self._session.say(format_own_call(tool, arguments))
        try:
            return await self._followed(submission, context)
        except asyncio.CancelledError:
            # The caller no longer wants it: it is stopped, and over, before the next one begins.
            with contextlib.suppress(QuintetError):
                await self._session.submit(p.Interrupt())
                await asyncio.shield(self._followed(submission, None))
            raise

    async def _followed(self, submission: str, context: ServerRequestContext[Any, Any] | None) -> types.CallToolResult:
        """What came of a call, once its turn is over."""
        begun, finished, told = False, None, 0
        followed = self._session.follow(submission, signals=context is not None)
        async for item in followed:
            if isinstance(item, p.Progress) and context:
                told += 1
                with contextlib.suppress(Exception):  # a caller that does not listen is no reason to stop
                    await context.session.report_progress(told, message=item.text.strip()[-MOST_TOLD:])
            match item:
                case p.Recorded(event=p.TurnStarted(submission=of)) if of == submission:
                    begun = True
                case p.Recorded(event=p.ToolFinished() as ended) if begun:
                    finished = ended
        if finished:
            return _said(finished.content, failed=finished.status is not CallStatus.OK)
        return _said(followed.outcome.reason or followed.outcome.status, failed=True)


def _own_input() -> AsyncIterator[str]:
    """Lines of our input, which no command or hook can read from now on."""
    ours = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return lines_of_input(ours)


def _said(text: str, *, failed: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)


def _guarded(application: Application, token: str) -> Application:
    """Only those who know the token, where there is one."""
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    if not token:
        return application
    wanted = f"Bearer {token}".encode()

    async def checked(scope: dict[str, Any], receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or hmac.compare_digest(given, wanted):
            await application(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"the token is expected, as Authorization: Bearer ...\n"})

    return checked
