"""What is asked of a connected MCP server, and its answers in our words. What a server says is bounded and checked."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Any

from mcp import Client, types

from quintet.domain.base.json_schema import misfit
from quintet.features.mcp.connection import Connected
from quintet.features.mcp.requests import CallHelp
from quintet.features.mcp.values import (
    McpAnswer,
    McpOffer,
    McpPart,
    McpPrompt,
    McpResource,
    McpServer,
    McpTool,
    ServerRefused,
)

MOST_PAGES = 50
MOST_LISTED = 5_000
MOST_NAME = 200
MOST_PROPOSED = 20


class Conversation:
    """With one server. `note` is told with its next answer."""

    def __init__(self, connected: Connected) -> None:
        self._connected = connected
        self._tools: dict[str, types.Tool] | None = None
        self.note = ""
        self.known_prompts: tuple[McpPrompt, ...] = ()
        connected.changed = self._changed

    def _changed(self, what: str) -> None:
        """The server says that a list of its is another now: it is asked for again when it is next needed."""
        if what == "tools":
            self._tools = None
        elif what == "prompts":
            self.known_prompts = ()

    @property
    def server(self) -> McpServer:
        return self._connected.server

    @property
    def usable(self) -> bool:
        return self._connected.usable

    def last_words(self) -> str:
        return self._connected.last_words()

    async def close(self, *, politely: bool = False) -> None:
        await self._connected.close(politely=politely)

    async def offer(self) -> McpOffer:
        client = self._connected.client
        tools = await self._listed()
        has = client.server_capabilities
        resources: list[McpResource] = []
        if has.resources:
            resources = [_resource(one) async for one in self._listed_if_known("resources")]
            resources += [_template(one) async for one in self._listed_if_known("templates")]
        info = client.server_info
        named = f"{info.name} {info.version}" if info else self.server.name
        return McpOffer(
            f"{named[:MOST_NAME]} · MCP {client.protocol_version}",
            client.instructions or "",
            tuple(
                McpTool(tool.name, tool.description or tool.title or "", tool.input_schema) for tool in tools.values()
            ),
            tuple(resources),
            await self.prompts(),
        )

    async def prompts(self) -> tuple[McpPrompt, ...]:
        if not self._connected.client.server_capabilities.prompts:
            return ()
        self.known_prompts = tuple([_prompt(one) async for one in self._listed_if_known("prompts")])
        return self.known_prompts

    async def prompt(self, name: str, arguments: dict[str, str]) -> McpAnswer:
        """A prompt filled in: its messages, who says each before it where they are several."""
        result = await self._connected.ask(lambda client: client.get_prompt(name, arguments))
        several = len(result.messages) > 1
        parts = []
        for message in result.messages:
            (part,) = _parts([message.content])
            said = f"[{message.role}]\n{part.text}" if several and part.text else part.text
            parts.append(McpPart(said, part.data, part.mime, part.uri))
        return McpAnswer(tuple(parts), notes=self._notes())

    async def completions(self, prompt: str, argument: str, value: str) -> tuple[str, ...]:
        """What the server proposes for an argument of a prompt."""
        if not self._connected.client.server_capabilities.completions:
            return ()
        reference = types.PromptReference(name=prompt)
        asked = {"name": argument, "value": value}
        result = await self._connected.ask(lambda client: client.complete(reference, asked))
        return tuple(result.completion.values[:MOST_PROPOSED])

    async def _listed_if_known(self, what: str) -> AsyncIterator[Any]:
        """A list that some servers announce and then do not have."""
        try:
            async for one in self._pages(what):
                yield one
        except ServerRefused as refused:
            if refused.code != types.METHOD_NOT_FOUND:
                raise

    async def schema(self, tool: str) -> dict[str, Any] | list[str]:
        """The schema of a tool's arguments; the names of all tools if there is no such one."""
        tools = self._tools or await self._listed()
        if tool not in tools:
            tools = await self._listed()
        found = tools.get(tool)
        return found.input_schema if found else list(tools)

    async def call(
        self, tool: str, arguments: dict[str, Any], tell: Callable[[str], None], help: CallHelp | None = None
    ) -> McpAnswer:
        async def heard(progress: float, total: float | None, message: str | None) -> None:
            tell(f"{progress:g}{f' of {total:g}' if total else ''}{f' {message}' if message else ''}"[:MOST_NAME])

        before, self._connected.help = self._connected.help, help
        try:
            result = await self._connected.ask(
                lambda client: client.call_tool(tool, arguments, progress_callback=heard),
            )
        finally:
            self._connected.help = before
        expected = (self._tools or {}).get(tool)
        if expected and expected.output_schema is not None and not result.is_error:
            problem = await asyncio.to_thread(misfit, result.structured_content, expected.output_schema, "result")
            if problem:
                raise ServerRefused(f"{tool} sent an answer that its own schema does not allow: {problem}")
        parts = tuple(_parts(result.content))
        notes = (*self._notes(), *(help.notes if help else ()))
        consulted = tuple(help.consulted) if help else ()
        return McpAnswer(parts, result.structured_content, result.is_error, notes, consulted)

    async def read(self, uri: str) -> McpAnswer:
        result = await self._connected.ask(lambda client: client.read_resource(uri))
        return McpAnswer(tuple(_content(one) for one in result.contents), notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        note, self.note = self.note, ""
        return (note,) if note else ()

    async def _listed(self) -> dict[str, types.Tool]:
        found: dict[str, types.Tool] = {}
        if self._connected.client.server_capabilities.tools:
            found = {tool.name: tool async for tool in self._pages("tools")}
        self._tools = found
        return found

    async def _pages(self, what: str) -> AsyncIterator[Any]:
        """A list of the server's, all its pages; a list without an end is refused."""
        cursor, seen, count = None, set[str | None](), 0
        for _ in range(MOST_PAGES):
            page, items = await self._connected.ask(partial(_page, what, cursor))
            for item in items:
                count += 1
                yield item
            seen.add(cursor)
            cursor = page.next_cursor
            if not cursor:
                return
            if cursor in seen or count > MOST_LISTED:
                break
        raise ServerRefused(f"its list of {what} does not end")


async def _page(what: str, cursor: str | None, client: Client) -> tuple[Any, list[Any]]:
    if what == "tools":
        tools = await client.list_tools(cursor=cursor)
        return tools, list(tools.tools)
    if what == "resources":
        resources = await client.list_resources(cursor=cursor)
        return resources, list(resources.resources)
    if what == "prompts":
        prompts = await client.list_prompts(cursor=cursor)
        return prompts, list(prompts.prompts)
    templates = await client.list_resource_templates(cursor=cursor)
    return templates, list(templates.resource_templates)


def _resource(one: types.Resource) -> McpResource:
    return McpResource(str(one.uri), one.title or one.name, one.description or "", one.mime_type or "")


def _template(one: types.ResourceTemplate) -> McpResource:
    return McpResource(one.uri_template, one.title or one.name, one.description or "", one.mime_type or "", True)


def _prompt(one: types.Prompt) -> McpPrompt:
    arguments = one.arguments or []
    names = tuple(each.name for each in arguments)
    return McpPrompt(
        one.name, one.description or one.title or "", names, tuple(each.name for each in arguments if each.required)
    )


def _parts(content: Iterable[types.ContentBlock]) -> Iterable[McpPart]:
    for block in content:
        if isinstance(block, types.TextContent):
            yield McpPart(block.text)
        elif isinstance(block, types.ImageContent | types.AudioContent):
            yield McpPart(data=_bytes(block.data), mime=block.mime_type)
        elif isinstance(block, types.ResourceLink):
            yield McpPart(block.description or block.name, mime=block.mime_type or "", uri=str(block.uri))
        else:
            yield _content(block.resource)


def _content(one: types.TextResourceContents | types.BlobResourceContents) -> McpPart:
    if isinstance(one, types.TextResourceContents):
        return McpPart(one.text, mime=one.mime_type or "", uri=str(one.uri))
    return McpPart(data=_bytes(one.blob), mime=one.mime_type or "", uri=str(one.uri))


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ServerRefused("it sent data that is not base64") from None
