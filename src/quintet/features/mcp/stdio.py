"""MCP over the stdin and stdout of a child: one JSON message a line, and bounds on what the child may send.

A line that is no message is dropped and remembered: programs print banners. Too many bytes without an answer of use,
or one message that is too long, and the connection is lost, with the reason. That a child ended is told when its exit
code is known: the end of its pipes comes a moment before its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from quintet.adapters.processes.piped_child import Piped
from quintet.features.mcp.byte_limit import Flooded, Gauge

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_CHUNK = 65_536
LEAVING_SECONDS = 5.0  # for a child that closed its end of a pipe to end, so that its exit code can be told
_STRAY = 200  # characters of a line that is no message, kept for an error


@asynccontextmanager
async def pipe_lines(child: Piped, gauge: Gauge) -> AsyncIterator[TransportStreams]:
    """A transport for `mcp.Client`. The child is whoever started it's to end."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def hear() -> None:
        async with incoming:
            try:
                async for line in _lines(child, gauge):
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        gauge.stray = gauge.stray or line.decode("utf-8", "replace").strip()[:_STRAY]
                    else:
                        await incoming.send(SessionMessage(message))
            except Flooded as flood:
                gauge.lost = str(flood)
            except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                gauge.lost = gauge.lost or "it ended"
            else:
                gauge.lost = gauge.lost or "it ended"
                await child.leaves(LEAVING_SECONDS)

    async def say() -> None:
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    child.writer.write(text.encode() + b"\n")
                    await child.writer.drain()
                except OSError:
                    left = await child.leaves(LEAVING_SECONDS)
                    gauge.lost = gauge.lost or ("it ended" if left else "it no longer accepts input")
                    await incoming.aclose()
                    return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hear)
        tasks.start_soon(say)
        try:
            yield read, write
        finally:
            tasks.cancel_scope.cancel()
            for stream in (incoming, read, write, outgoing):
                with contextlib.suppress(anyio.ClosedResourceError):
                    stream.close()


async def _lines(child: Piped, gauge: Gauge) -> AsyncIterator[bytes]:
    rest: list[bytes] = []  # of a line that has not ended
    while data := await child.reader.read(_CHUNK):
        gauge.count(len(data))
        first, *others = data.split(b"\n")
        rest.append(first)
        for after in others:
            line, rest = b"".join(rest), [after]
            if line.strip():
                yield line
