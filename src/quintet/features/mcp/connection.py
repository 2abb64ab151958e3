"""One MCP server, connected, by the SDK's own client. Loaded at the first use of a server: the SDK is heavy.

The client lives in a task of its own, since what it opens has to be closed where it was opened. What a server does
wrong is `Lost` (its connection is of no more use) or `Refused` (it said no, or nonsense); nothing else comes out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.context import ClientRequestContext
from mcp.client.subscriptions import SubscriptionLost, ToolsListChanged
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    Implementation,
    ListRootsResult,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    Root,
    ToolListChangedNotification,
)
from pydantic import FileUrl, ValidationError

from quintet import __version__
from quintet.adapters.processes.piped_child import Piped
from quintet.features.mcp.byte_limit import Gauge
from quintet.features.mcp.http import bounded_http
from quintet.features.mcp.requests import DECLINED, CallHelp
from quintet.features.mcp.stdio import pipe_lines
from quintet.features.mcp.values import Forgotten, Lost, McpServer, ServerRefused

GOODBYE_SECONDS = 1.0
HANDSHAKES = ("auto", "legacy")  # the second for servers that leave at a question they do not know
SESSION_GONE = "Session terminated"  # the SDK's words where an HTTP server no longer knows us
MOST_SAID = 2_000
NO_POSTS = ("HTTP 400", "HTTP 404", "HTTP 405")  # what an address of the older transport answers to the newer
MOST_LISTENS = 5  # times that one is listened to anew, where what it tells is lost

Answer = TypeVar("Answer")
for _name in ("mcp", "client", "httpx2", "httpcore2"):  # what they log is told in our errors, not on stderr
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Connected:
    """Made by `connect`."""

    def __init__(
        self, server: McpServer, root: str, child: Piped | None, auth: httpx2.Auth | None = None, *, sse: bool = False
    ) -> None:
        self._auth = auth
        self._sse = sse
        self.server = server
        self.child = child
        self.gauge = Gauge()
        self.help: CallHelp | None = None  # of the call that runs
        self.changed: Callable[[str], None] = lambda what: None  # told which list of the server's is another now
        self._root = root
        self._over = asyncio.Event()
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        assert self._client
        return self._client

    @property
    def usable(self) -> bool:
        return self._task is not None and not (self._task.done() or self.gauge.lost)

    async def open(self, handshake: str) -> None:
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(handshake, ready))
        try:
            self._client = await asyncio.shield(ready)
        except BaseException:
            await self.close()
            raise

    async def _live(self, handshake: str, ready: asyncio.Future[Client]) -> None:
        if self.child:
            transport = pipe_lines(self.child, self.gauge)
        else:
            transport = bounded_http(self.server, self.gauge, self._auth, sse=self._sse)
        options: dict[str, Any] = {"mode": handshake}
        if self.child:  # a server on another machine has no use for a path of ours
            options["list_roots_callback"] = self._roots
        options["message_handler"] = self._heard
        options["elicitation_callback"] = self._elicited
        if self.server.sampling != "deny":
            options["sampling_callback"] = self._sampled
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # roots are on their way out; servers of today still ask
                client = Client(
                    transport,
                    client_info=Implementation(name="quintet", version=__version__),
                    cache=None,
                    **options,
                )
            async with client:
                client.session.validate_tool_result = _unchecked  # type: ignore[method-assign]
                ready.set_result(client)
                listening = asyncio.create_task(self._listen(client))
                try:
                    await self._over.wait()
                finally:
                    listening.cancel()
                    await asyncio.gather(listening, return_exceptions=True)
        except BaseException as error:
            if not ready.done():
                ready.set_exception(self._failure(error))
                ready.exception()  # whoever waited may be gone
            elif not isinstance(error, asyncio.CancelledError):
                self.gauge.lost = self.gauge.lost or _said(error)
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _listen(self, client: Client) -> None:
        """Hear of lists that change, of a server of 2026-07-28 on: it tells only where it is listened to."""
        able = client.server_capabilities
        tools = bool(able.tools and able.tools.list_changed)
        prompts = bool(able.prompts and able.prompts.list_changed)
        for _ in range(MOST_LISTENS if tools or prompts else 0):
            try:
                async with client.listen(tools_list_changed=tools, prompts_list_changed=prompts) as events:
                    async for event in events:
                        self.changed("tools" if isinstance(event, ToolsListChanged) else "prompts")
                return  # the server has no more to tell
            except SubscriptionLost:  # what was missed meanwhile is asked for anew
                self.changed("tools")
                self.changed("prompts")
                await asyncio.sleep(1.0)
            except Exception:  # an older server tells without, and one that refuses is used as it is
                return

    async def _heard(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.changed("tools")
        elif isinstance(message, PromptListChangedNotification):
            self.changed("prompts")
        elif isinstance(message, ResourceListChangedNotification):
            self.changed("resources")

    async def _roots(self, context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(f"file://{self._root}"), name="project")])

    async def _elicited(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        return await self.help.elicit(self.server, params) if self.help else DECLINED

    async def _sampled(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        if self.help is None:
            return ErrorData(code=-1, message="a server may use a model only while one of its tools runs")
        return await self.help.sample(self.server, params)

    async def ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        self.gauge.reset()
        self.gauge.refusal, self.gauge.login = "", False
        try:
            return await question(self.client)
        except Exception as error:
            raise self._failure(error) from None

    def _failure(self, error: BaseException) -> Exception:
        """What came of it, as Lost or Refused."""
        leaf = _leaf(error)
        if isinstance(leaf, MCPError) and leaf.message == SESSION_GONE:
            return Forgotten("it has ended this session")
        refusal = f" ({self.gauge.refusal})" if self.gauge.refusal else ""
        login = self.gauge.login
        if self.gauge.lost or not isinstance(leaf, MCPError | ValidationError | RuntimeError):
            return Lost(self.gauge.lost or _said(leaf) + refusal, login=login)
        if isinstance(leaf, MCPError) and leaf.code == CONNECTION_CLOSED:
            return Lost(_said(leaf) + refusal, login=login)
        return ServerRefused(_said(leaf) + refusal, leaf.code if isinstance(leaf, MCPError) else 0, login=login)

    async def close(self, *, politely: bool = False) -> None:
        """Let go of the server; a program is ended with all it started."""
        self._over.set()
        if self._task:
            await asyncio.wait([self._task], timeout=GOODBYE_SECONDS if politely or not self.child else 0.05)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.child:
            await (self.child.dismiss(GOODBYE_SECONDS) if politely else self.child.end())

    def last_words(self) -> str:
        """What is known of its end, as the end of a message: its exit code, and what it said last."""
        child = self.child
        if child is None:
            return ""
        code = child.exit_code
        ended = f" (exit {code})" if code is not None else ""
        said = child.last_words() or self.gauge.stray
        return f"{ended}. Its last output:\n{said}" if said else ended


async def connect(
    server: McpServer, root: str, start: Callable[[], Awaitable[Piped]], auth: httpx2.Auth | None = None
) -> Connected:
    """A server, ready to be asked. Raises Lost or Refused."""
    made: Connected | None = None
    for handshake in HANDSHAKES[bool(server.older) :]:
        made = Connected(server, root, None if server.url else await start(), auth, sse=server.older == "sse")
        try:
            await made.open(handshake)
            return made
        except (Lost, ServerRefused) as error:
            if made.child is None:
                if server.older != "sse" and made.gauge.refusal.startswith(NO_POSTS):
                    older = Connected(server, root, None, auth, sse=True)
                    with contextlib.suppress(Lost, ServerRefused):  # then the first error says more
                        await older.open(HANDSHAKES[-1])
                        return older
                raise
            if handshake == HANDSHAKES[-1]:
                raise type(error)(f"{error}{made.last_words()}") from None
    raise AssertionError("unreachable")


async def _unchecked(name: str, result: CallToolResult) -> None:
    """The SDK would hold a result to the server's schema with patterns of the server's, which may never come to an
    end; `Conversation.call` does it instead, in a bounded number of steps.
    """


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def _said(error: BaseException) -> str:
    if isinstance(error, MCPError):
        return error.message[:MOST_SAID]
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(place) for place in first["loc"])
        return f"it sent an answer that the protocol does not allow ({where}: {first['msg']})"[:MOST_SAID]
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return f"it cannot be reached ({error or 'no answer'})"
    if isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError):
        return "it ended"
    return (str(error) or type(error).__name__)[:MOST_SAID]
