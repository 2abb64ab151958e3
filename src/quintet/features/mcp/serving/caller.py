"""The MCP client whose call a tool carries out, for tools of plugins: it can be asked, and given more than a result.

`await caller_of(bench)` waits until the surface knows whose call it is. The call itself is one like any other: the gate
has let it run, and its result is recorded. What is asked of the client and what is added for it is not. Known secrets
go to it in neither.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp import MCPError, types

from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.ports import Secrets, Workbench

if TYPE_CHECKING:
    from mcp.server.session import ServerSession


def _plain(text: str) -> str:
    return text


class Caller:
    def __init__(
        self,
        session: ServerSession,
        text: Callable[[str], str] = _plain,
        added: list[types.ContentBlock] | None = None,
    ) -> None:
        """`text` takes the known secrets out of one that goes to the client."""
        self._session = session
        self._text = text
        self.added = [] if added is None else added

    def without(self, secrets: Secrets | None) -> Caller:
        """The same client, to which no known secret goes."""
        return Caller(self._session, secrets.text if secrets else _plain, self.added)

    def add(self, content: types.ContentBlock) -> None:
        """Sound, a resource or a link, which the client gets after the tool's text and pictures."""
        self.added.append(type(content).model_validate(self._clean(content.model_dump(mode="json", by_alias=True))))

    async def ask(self, message: str, schema: dict[str, Any]) -> types.ElicitResult:
        """Its person fills in a form; ToolFailed where it has no way to show one."""
        self._must_have(types.ClientCapabilities(elicitation=types.ElicitationCapability()), "forms")
        try:
            return await self._session.elicit_form(self._text(message), self._clean(schema))
        except MCPError as error:
            raise ToolFailed(f"the MCP client did not show the form: {error}") from None

    async def sample(self, text: str, most_tokens: int) -> types.CreateMessageResult:
        """Its model answers, at its cost; ToolFailed where it lends none."""
        self._must_have(types.ClientCapabilities(sampling=types.SamplingCapability()), "requests to its model")
        message = types.SamplingMessage(role="user", content=types.TextContent(text=self._text(text)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on its way out; clients of today still have it
                asking = self._session.create_message([message], max_tokens=most_tokens)
            return await asking
        except MCPError as error:
            raise ToolFailed(f"the MCP client did not ask its model: {error}") from None

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(name): self._clean(inner) for name, inner in value.items()}
        return [self._clean(inner) for inner in value] if isinstance(value, list | tuple) else value

    def _must_have(self, capability: types.ClientCapabilities, what: str) -> None:
        if not self._session.check_client_capability(capability):
            raise ToolFailed(f"the MCP client does not take {what}")


_serving: list[object] = []  # the surfaces of this process
_callers: dict[str, asyncio.Future[Caller]] = {}  # by the id of the call


async def caller_of(bench: Workbench) -> Caller:
    """Raises ToolFailed where no MCP client has made the call."""
    if not _serving:
        raise ToolFailed("no MCP client has made this call")
    return (await _future(bench.call.id)).without(bench.secrets)


@contextmanager
def serving() -> Iterator[None]:
    """While this lasts, calls of this process are those of MCP clients."""
    mark = object()
    _serving.append(mark)
    try:
        yield
    finally:
        _serving.remove(mark)


@contextmanager
def making(call: str, caller: Caller) -> Iterator[None]:
    """While this lasts, the call of that id is known to be this client's."""
    _future(call).set_result(caller)
    try:
        yield
    finally:
        del _callers[call]


def _future(call: str) -> asyncio.Future[Caller]:
    if call not in _callers:
        _callers[call] = asyncio.get_running_loop().create_future()
    return _callers[call]
