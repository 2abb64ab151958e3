"""The surface that other agents call: a session's tools as an MCP server, over stdio or streamable HTTP on loopback.

Each call is a turn of a session, by the same gate, rules, sandbox and journal as everybody's; `lanes` says of which.
Nobody is attached to be asked, so what would be asked is not run, and the caller is told why. Which tools there are
follows the dials, and callers are told when that changes.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import json
import logging
import os
import socket
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged

from quintet import __version__
from quintet.domain.base.errors import QuintetError
from quintet.domain.dials import badge
from quintet.domain.input.slash_line import format_own_call
from quintet.domain.journal import protocol as p
from quintet.domain.permission import gate
from quintet.domain.permission.effects import READING
from quintet.domain.turn.messages import KeptImage
from quintet.domain.turn.tool_spec import CallStatus, ToolSpec
from quintet.engine.session.session import Session
from quintet.features.mcp.serving.caller import Caller, making, serving
from quintet.features.mcp.serving.lanes import Lanes
from quintet.features.mcp.serving.offers import Offers, changed_by
from quintet.surfaces.terminal import lines_of_input

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

PATH = "/mcp"
PATIENCE_SECONDS = 3  # with callers that keep listening, at the end
MOST_TOLD = 200  # characters of a sign of life
INSTRUCTIONS = """\
Quintet's tools on the project {project}, at {badge}. Every call goes through its gate and is recorded; what its \
dials do not allow without approval is not run, and the answer says why."""

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

Application = Callable[..., Awaitable[None]]
_Context: TypeAlias = "ServerRequestContext[Any, Any]"


class McpSurface:
    """`specs` are the tools that are offered, as far as the dials let them be of any use."""

    def __init__(self, lanes: Lanes, specs: Sequence[ToolSpec], offers: Offers, project: str, images: str = "") -> None:
        """`images` is the folder that pictures of results are kept in."""
        self._lanes = lanes
        self._session = lanes.first
        self._specs = {spec.name: spec for spec in specs}
        self._offers = offers
        self._images = images
        self._callers: WeakValueDictionary[int, Any] = WeakValueDictionary()  # their connections
        self._follow: dict[int, set[str]] = {}  # by the caller: the resources that it wants to hear of
        self._level = 0  # of LEVELS: callers hear of notices from there on
        self._asked_for_messages = False  # somebody has set the level
        self._news = InMemorySubscriptionBus()  # for callers of the newer protocol, who listen to it
        about = INSTRUCTIONS.format(project=project, badge=badge.full(lanes.first.state.axes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # logging is on its way out; clients of today still set its level
            self._server: Server[dict[str, Any]] = _Server(
                "quintet",
                version=__version__,
                instructions=about,
                on_list_tools=self._list,
                on_call_tool=self._call,
                on_list_resources=self._resources,
                on_list_resource_templates=self._templates,
                on_read_resource=self._read,
                on_subscribe_resource=self._subscribe,
                on_unsubscribe_resource=self._unsubscribe,
                on_subscriptions_listen=ListenHandler(self._news),
                on_list_prompts=self._prompts,
                on_get_prompt=self._prompt,
                on_completion=self._complete,
                on_set_logging_level=self._set_level,
            )

    @contextlib.asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        """Callers are told of turned dials, and of notices, while this lasts."""
        watching = asyncio.create_task(self._watch())
        try:
            with serving():
                yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await self._lanes.close()

    async def _watch(self) -> None:
        async for item in self._session.events(self._session.since):
            if isinstance(item, p.Recorded):
                await self._tell_of(changed_by(item.event, self._session.id))
            match item:
                case p.Recorded(event=p.DialsTurned(before=before, after=after)) if before != after:
                    await self._tell("notifications/tools/list_changed", None)
                    await self._news.publish(ToolsListChanged())
                case p.Recorded(event=p.Noticed(level=level, text=text)) if LEVELS.index(level) >= self._level:
                    await self._tell("notifications/message", {"level": level, "logger": "quintet", "data": text})

    async def _tell(self, method: str, params: dict[str, Any] | None) -> None:
        for connection in list(self._callers.values()):
            with contextlib.suppress(Exception):  # one that left is no reason to stop
                await connection.outbound.notify(method, params)

    async def _tell_of(self, changed: set[str]) -> None:
        for uri in sorted(changed):
            await self._news.publish(ResourceUpdated(uri))
        callers = dict(self._callers)
        self._follow = {caller: wanted for caller, wanted in self._follow.items() if caller in callers}
        for caller, wanted in self._follow.items():
            for uri in sorted(wanted & changed):
                with contextlib.suppress(Exception):  # one that left is no reason to stop
                    await callers[caller].outbound.notify("notifications/resources/updated", {"uri": uri})

    def _know(self, context: _Context) -> int:
        """A caller who is told what changes; the SDK has no list of its connections."""
        connection = context.session._connection
        self._callers[id(connection)] = connection
        return id(connection)

    async def over_stdio(self, told: asyncio.Event) -> int:
        """Until the input ends, or it is told to end."""

        async def served() -> None:
            async with stdio_server(_own_input()) as (read, write):  # type: ignore[arg-type]
                await self._server.run(read, write, self._server.create_initialization_options())

        async with self._watching():
            return await self._served(served(), told)

    async def _served(self, served: Coroutine[Any, Any, None], told: asyncio.Event) -> int:
        serving, ending = asyncio.create_task(served), asyncio.create_task(told.wait())
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
        async with self._watching():
            await server.serve(sockets=[listening])
        ending.cancel()
        return 0

    def _offered(self) -> dict[str, ToolSpec]:
        axes = self._session.state.axes
        return {name: spec for name, spec in self._specs.items() if gate.visible(spec, axes)}

    async def _list(
        self, context: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self._know(context)
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
        self._know(context)
        offered = self._offered()
        if params.name not in offered:
            return _said(f"there is no tool {params.name} here. Available: {', '.join(offered)}", failed=True)
        try:
            async with self._lanes.lane(offered[params.name]) as session:
                return await self._made(session, params.name, json.dumps(params.arguments or {}), context)
        except QuintetError as error:
            return _said(str(error), failed=True)

    async def _made(
        self, session: Session, tool: str, arguments: str, context: ServerRequestContext[Any, Any]
    ) -> types.CallToolResult:
        submission = await session.say(format_own_call(tool, arguments))
        try:
            return await self._followed(session, submission, context)
        except asyncio.CancelledError:
            # The caller no longer wants it: it is stopped, and over, before the next one begins.
            with contextlib.suppress(QuintetError):
                await session.submit(p.Interrupt())
                await asyncio.shield(self._followed(session, submission, None))
            raise

    async def _followed(
        self, session: Session, submission: str, context: ServerRequestContext[Any, Any] | None
    ) -> types.CallToolResult:
        """What came of a call, once its turn is over."""
        begun, finished, told = False, None, 0
        asked = Caller(context.session) if context else None
        followed = session.follow(submission, signals=context is not None)
        with contextlib.ExitStack() as calls:
            async for item in followed:
                if isinstance(item, p.Progress) and context:
                    told += 1
                    with contextlib.suppress(Exception):  # a caller that does not listen is no reason to stop
                        await self._sign_of_life(context, told, item.text.strip()[-MOST_TOLD:])
                match item:
                    case p.Recorded(event=p.TurnStarted(submission=of)) if of == submission:
                        begun = True
                    case p.Recorded(event=p.ToolStarted(call=call)) if begun and asked:
                        calls.enter_context(making(call, asked))
                    case p.Recorded(event=p.ToolFinished() as ended) if begun:
                        finished = ended
        if finished:
            shown = [one for one in map(self._picture, finished.images or ()) if one]
            added = asked.added if asked else ()
            return _said(finished.content, *shown, *added, failed=finished.status is not CallStatus.OK)
        return _said(followed.outcome.reason or followed.outcome.status, failed=True)

    async def _sign_of_life(self, context: _Context, told: int, text: str) -> None:
        """As progress to a caller that wants it of this call, else as a message to one that has set their level."""
        if (context.meta or {}).get("progress_token") is not None:
            await context.session.report_progress(told, message=text)
        elif self._asked_for_messages and LEVELS.index("info") >= self._level:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on its way out; clients of today still ask for it
                sending = context.session.send_log_message("info", text, "quintet", context.request_id)
            await sending

    def _picture(self, image: KeptImage) -> types.ImageContent | None:
        if not image.digest.isalnum():  # the name of a file, and of nothing else
            return None
        try:
            with open(os.path.join(self._images, image.digest), "rb") as file:
                data = base64.b64encode(file.read()).decode()
        except OSError:
            return None
        return types.ImageContent(data=data, mime_type=image.media_type)

    # ── what can be read and begun with

    async def _resources(self, context: _Context, params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=self._offers.resources())

    async def _templates(self, context: _Context, params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=self._offers.templates())

    async def _read(self, context: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await asyncio.to_thread(self._offers.read, str(params.uri))

    async def _subscribe(self, context: _Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        uri = str(params.uri)
        await asyncio.to_thread(self._offers.read, uri)  # one that is not there is an error
        self._follow.setdefault(self._know(context), set()).add(uri)
        return types.EmptyResult()

    async def _unsubscribe(self, context: _Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._follow.get(self._know(context), set()).discard(str(params.uri))
        return types.EmptyResult()

    async def _prompts(self, context: _Context, params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=await asyncio.to_thread(self._offers.prompts))

    async def _prompt(self, context: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await asyncio.to_thread(self._offers.prompt, params.name, params.arguments or {})

    async def _complete(self, context: _Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        found = await asyncio.to_thread(self._offers.proposed, params.ref, params.argument)
        return types.CompleteResult(completion=types.Completion(values=found, total=len(found), has_more=False))

    async def _set_level(self, context: _Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self._know(context)
        self._level = LEVELS.index(params.level)
        self._asked_for_messages = True
        return types.EmptyResult()


class _Server(Server[dict[str, Any]]):
    """Says that its list of tools may change, over every transport."""

    def create_initialization_options(self, *words: Any, **named: Any) -> InitializationOptions:
        words = words or (NotificationOptions(tools_changed=True),)
        return super().create_initialization_options(*words, **named)


def _own_input() -> AsyncIterator[str]:
    """Lines of our input, which no command or hook can read from now on."""
    ours = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return lines_of_input(ours)


def _said(text: str, *more: types.ContentBlock, failed: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text), *more], is_error=failed)


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
