"""What a server asks of us while a call of its tool runs: the user's answers, and the user's model.

Both are asked of the person, by Quintet's own words first. A server gets no answer that the person did not give, no
secret by a form, and of models only what the limits leave. Outside a call nothing is answered.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from mcp import types
from msgspec import structs

from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.question import BETWEEN, labelled
from quintet.domain.turn.messages import Finish, Image
from quintet.domain.turn.tool_spec import Advisers, CallChoice, CallQuestion, CallReply, Consulted
from quintet.features.mcp import forms
from quintet.features.mcp.values import McpServer
from quintet.tools.images import media_type

Ask = Callable[[CallQuestion], Awaitable[CallReply]]
MOST_ASKED = 20  # of one call, forms and models together
MOST_TRIES = 3  # to fill in one field
MOST_SAMPLE = 100_000  # characters that a model is asked
ONCE, SESSION, NO = "y", "s", "n"
DECLINED = types.ElicitResult(action="decline")


class CallHelp:
    """For one call of a server's tool. `allowed` are the servers that may use the model in this session."""

    def __init__(
        self,
        ask: Ask,
        advisers: Advisers | None,
        allowed: set[str],
        patterns: Iterable[str] = (),
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._ask = ask
        self._advisers = advisers
        self._allowed = allowed
        self._patterns = tuple(patterns)
        self._progress = progress
        self._asked = 0
        self._turn = asyncio.Lock()  # one question at a time
        self.consulted: list[Consulted] = []
        self.notes: list[str] = []

    async def _put(self, question: CallQuestion) -> CallReply:
        consulted, self.consulted = tuple(self.consulted), []
        return await self._ask(structs.replace(question, consulted=consulted))

    def _too_often(self) -> bool:
        self._asked += 1
        return self._asked > MOST_ASKED

    # ── forms

    async def elicit(self, server: McpServer, params: types.ElicitRequestParams) -> types.ElicitResult:
        async with self._turn:
            if self._too_often():
                return DECLINED
            if isinstance(params, types.ElicitRequestURLParams):
                return await self._page(server, params)
            try:
                fields = forms.fields_of(params.requested_schema) if params.requested_schema else []
            except ValueError as error:
                self.notes.append(f"{server.name} asked you something, and was declined: {error}")
                return DECLINED
            if secret := forms.secret_field(fields, self._patterns):
                self.notes.append(f"{server.name} asked for {secret}, which may be a secret, and was declined")
                return DECLINED
            return await self._filled(server, params.message, fields)

    async def _filled(self, server: McpServer, message: str, fields: list[forms.FormField]) -> types.ElicitResult:
        if not fields:
            reply = await self._put(forms.consent(server.name, server.origin, message))
            return types.ElicitResult(action="accept", content={}) if reply.choice == forms.YES else self._no(reply)
        values: dict[str, Any] = {}
        for number, field in enumerate(fields):
            again = ""
            for _ in range(MOST_TRIES):
                reply = await self._put(forms.question(server.name, server.origin, message, fields, number, again))
                if reply.refused or reply.choice in ("", forms.DECLINE):
                    return self._no(reply)
                values[field.name], again = forms.value_of(field, reply)
                if not again:
                    break
            else:
                return types.ElicitResult(action="cancel")
            if reply.choice == forms.REST:
                values |= forms.defaults(fields[number + 1 :])
                break
        return types.ElicitResult(action="accept", content=forms.accepted(fields, values))

    async def _page(self, server: McpServer, params: types.ElicitRequestURLParams) -> types.ElicitResult:
        parts = urlsplit(params.url)
        local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
        if not (parts.scheme == "https" and parts.hostname and "@" not in parts.netloc) and not local:
            self.notes.append(f"{server.name} asked for a page without https, and was declined")
            return DECLINED
        reply = await self._put(forms.page(server.name, server.origin, params.message, params.url))
        return types.ElicitResult(action="accept") if reply.choice == forms.YES else self._no(reply)

    def _no(self, reply: CallReply) -> types.ElicitResult:
        if reply.refused:
            self.notes.append(f"it asked the user something, and was declined: {reply.refused}")
        return DECLINED

    # ── models

    async def sample(
        self, server: McpServer, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        async with self._turn:
            if why := await self._refused(server, params):
                self.notes.append(f"{server.name} asked for the model, and was refused: {why}")
                return types.ErrorData(code=-1, message=why)
            assert self._advisers
            try:
                text, images = _told(params)
                advice = await self._advisers.ask("sampling", "smart", text, images, self._progress)
            except (ToolFailed, ValueError) as error:
                return types.ErrorData(code=types.INTERNAL_ERROR, message=str(error))
            self.consulted.append(advice.consulted)
            return types.CreateMessageResult(
                role="assistant",
                content=types.TextContent(text=advice.text),
                model=advice.consulted.model,
                stop_reason="maxTokens" if advice.finish is Finish.LENGTH else "endTurn",
            )

    async def _refused(self, server: McpServer, params: types.CreateMessageRequestParams) -> str:
        """Why the model is not asked; empty if it is. The person is asked first, unless the settings say otherwise."""
        if server.sampling == "deny":
            return "the user's settings do not allow it"
        if self._advisers is None or not self._advisers.ready("smart"):
            return "there is no language model here"
        if params.tools:
            return "a server may not give the model tools"
        if self._too_often():
            return f"it asked more than {MOST_ASKED} times in one call"
        known = server.sampling == "allow" or server.name in self._allowed
        reply = await self._put(CallQuestion(spends=True) if known else _may_it(server, params))
        if reply.choice == SESSION:
            self._allowed.add(server.name)
        if known:
            return reply.refused
        return reply.refused or ("" if reply.choice in (ONCE, SESSION) else "the user said no")


def _may_it(server: McpServer, params: types.CreateMessageRequestParams) -> CallQuestion:
    choices = (CallChoice(ONCE, "yes"), CallChoice(SESSION, "yes, for this session"), CallChoice(NO, "no"))
    detail = (
        labelled("Server", f"{server.name} ({server.origin}) asks this, not Quintet"),
        labelled("Model", "the model of model mode smart, at your cost"),
        labelled("Goes to", f"{server.name} gets the answer; the model gets only what is below"),
        BETWEEN,
        *_told(params)[0][: forms.MOST_TEXT].splitlines(),
    )
    return CallQuestion(
        f"Allow MCP server {server.name} to send a request to your model?", choices, detail, spends=True
    )


def _told(params: types.CreateMessageRequestParams) -> tuple[str, list[Image]]:
    """A conversation of a server's as one text; a ValueError where a model cannot be shown it."""
    pieces = [params.system_prompt] if params.system_prompt else []
    images: list[Image] = []
    for message in params.messages:
        for block in message.content_as_list:
            if isinstance(block, types.TextContent):
                pieces.append(block.text if len(params.messages) == 1 else f"[{message.role}]\n{block.text}")
            elif isinstance(block, types.ImageContent):
                images.append(_image(block))
            else:
                raise ValueError("only text and images can be sent to the model")
    text = "\n\n".join(pieces)
    if len(text) > MOST_SAMPLE:
        raise ValueError(f"{len(text)} characters; the limit is {MOST_SAMPLE}")
    return text, images


def _image(block: types.ImageContent) -> Image:
    try:
        data = base64.b64decode(block.data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a picture that is not base64") from None
    kind = media_type(data)
    if not kind:
        raise ValueError("an image that is not PNG, JPEG, WebP or GIF")
    return Image(kind, block.data)
