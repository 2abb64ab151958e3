"""An editor, as far as the protocol goes: the SDK's own client side, over stdio to the real program."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

from acp import text_block
from acp.client.connection import ClientSideConnection
from acp.connection import StreamEvent
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    CancelElicitationResponse,
    ClientCapabilities,
    ClientSessionCapabilities,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from tests.surfaces.forked import forks
from tests.surfaces.program import SECONDS, env

T = TypeVar("T")
FORMS = ClientCapabilities(elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()))
BOOLEANS = ClientCapabilities(
    session=ClientSessionCapabilities.model_validate({"configOptions": {"boolean": {}}}),
)


class Editor:
    """Answers permission requests with `picks`, in turn; `None` cancels, and where they are used up it waits."""

    connection: ClientSideConnection

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.forms: list[str] = []
        self.picks: list[str | None] = []
        self.words: list[str] = []
        self.messages: list[tuple[str, dict[str, Any]]] = []  # every one, with its direction
        self._came = asyncio.Event()

    # ── what the agent calls

    def on_connect(self, conn: Any) -> None:
        self.connection = conn

    async def session_update(self, session_id: str, update: Any, **meta: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
        self.notice()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **meta: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self.notice()
        await self.sees(lambda: bool(self.picks))
        pick = self.picks.pop(0)
        if pick is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=pick))

    async def create_elicitation(self, message: str, mode: Any, **meta: Any) -> Any:
        self.forms.append(message)
        if not self.words:
            return CancelElicitationResponse(action="cancel")
        return AcceptElicitationResponse(action="accept", content={"note": self.words.pop(0)})

    # ── what a test does

    def observe(self, event: StreamEvent) -> None:
        self.messages.append((event.direction.value, event.message))

    def notice(self) -> None:
        self._came.set()
        self._came = asyncio.Event()

    async def sees(self, wanted: Callable[[], T]) -> T:
        """Waits until something holds of what came."""
        async with asyncio.timeout(SECONDS):
            while not (found := wanted()):
                await self._came.wait()
        return found

    def pick(self, key: str | None) -> None:
        self.picks.append(key)
        self.notice()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def said(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.of(kind))

    async def new(self, root: Path, **given: Any) -> str:
        opened = await self.connection.new_session(cwd=str(root), mcp_servers=given.pop("mcp_servers", []), **given)
        return opened.session_id

    async def says(self, session: str, text: str) -> str:
        answer = await self.connection.prompt(session_id=session, prompt=[text_block(text)])
        return str(answer.stop_reason)


@contextlib.asynccontextmanager
async def editor(
    root: Path, *flags: str, can: ClientCapabilities | None = None, **variables: str
) -> AsyncIterator[Editor]:
    """The program with an editor at its stdin and stdout."""
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryFile() as errors:
        run = forks().piped(("acp", *flags), cwd=root, env=env(variables), errors=errors.fileno())
        reader = asyncio.StreamReader(limit=50_000_000)
        inward, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(run.out, "rb", buffering=0)
        )
        outward, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(run.typed, "wb", buffering=0)
        )
        writer = asyncio.StreamWriter(outward, protocol, None, loop)
        at = Editor()
        connection = ClientSideConnection(at, writer, reader, use_unstable_protocol=True, observers=[at.observe])
        at.connection = connection
        try:
            await connection.initialize(protocol_version=1, client_capabilities=can or ClientCapabilities())
            yield at
        finally:
            outward.close()
            code = await asyncio.to_thread(run.wait, SECONDS)
            await connection.close()
            inward.close()
            errors.seek(0)
            said = errors.read().decode()
        assert code == 0 and "Traceback" not in said, said


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
