"""A loopback model server for tests: scripted replies in the dialect that is asked for, and a record of the requests.

In a test: `async with ModelServer([Reply(text=["hi"])]) as server: ... server.base_url ... server.requests`.
As a process: `python model_server.py SCRIPT.json` (or the JSON itself), a list of replies as objects with the fields of
`Reply`. It prints {"port": N}; GET /requests gives the record. The last reply of a script answers all further requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

MODEL = "test-model"
USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4},
}
SIGNATURE = "EqQBCkYIBBgCKkD/signed=="


@dataclass(frozen=True)
class Reply:
    """One scripted answer. By default text, thinking and calls make a streamed reply, in order; `body` replaces it."""

    text: str | Sequence[str] = ()  # one event each
    thinking: Sequence[str] = ()
    calls: Sequence[dict[str, str]] = ()  # id, name, arguments; arguments are split in two events
    finish: str = ""  # finish_reason; by default what fits
    usage: dict[str, Any] | None = field(default_factory=lambda: dict(USAGE))
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | bytes | Sequence[bytes] | None = None  # a sequence goes out as one HTTP chunk per piece
    framing: str = "chunked"  # or "length", or "close": the end of the connection is the end of the body
    raw: str | bytes | None = None  # the whole answer, HTTP and all
    only: int | None = None  # send only so many bytes of the answer, 0 for none
    then: str = "keep"  # the connection afterwards: "keep", "close", "reset" or "hang"
    delay: float = 0.0  # seconds before the answer
    held: bool = False  # no answer before the server is told to go on


@dataclass
class Recorded:
    method: str
    target: str
    headers: dict[str, str]
    body: Any  # JSON


def events(reply: Reply) -> list[bytes]:
    """A reply as server-sent events, [DONE] included."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in reply.thinking]
    deltas += [{"content": piece} for piece in ([reply.text] if isinstance(reply.text, str) else reply.text)]
    for index, call in enumerate(reply.calls):
        arguments, half = call.get("arguments", "{}"), len(call.get("arguments", "{}")) // 2
        head = {"index": index, "id": call.get("id", f"call_{index}"), "type": "function"}
        deltas.append({"tool_calls": [{**head, "function": {"name": call["name"], "arguments": arguments[:half]}}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
    base: dict[str, Any] = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    finish = reply.finish or ("tool_calls" if reply.calls else "stop")
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if reply.usage is not None:
        chunks.append({**base, "choices": [], "usage": reply.usage})
    # Characters beyond ASCII go out as they are, so that a cut can fall inside one.
    lines = [json.dumps(chunk, ensure_ascii=False, separators=(",", ":")) for chunk in chunks]
    return [f"data: {line}\n\n".encode() for line in [*lines, "[DONE]"]]


def message_events(reply: Reply) -> list[bytes]:
    """The same reply as Anthropic's messages API streams it, thinking signed; message_stop included."""
    finish = reply.finish or ("tool_use" if reply.calls else "end_turn")
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": []}
    start = {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}
    chunks: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.thinking:
        deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": piece} for piece in reply.thinking]
        deltas.append({"type": "signature_delta", "signature": SIGNATURE})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    texts = [reply.text] if isinstance(reply.text, str) else reply.text
    if texts:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in texts]))
    for index, call in enumerate(reply.calls):
        arguments, half = call.get("arguments", "{}"), len(call.get("arguments", "{}")) // 2
        begun = {"type": "tool_use", "id": call.get("id", f"call_{index}"), "name": call["name"], "input": {}}
        pieces = ("", arguments[:half], arguments[half:])
        blocks.append((begun, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]))
    for index, (begun, deltas) in enumerate(blocks):
        chunks.append({"type": "content_block_start", "index": index, "content_block": begun})
        chunks += [{"type": "ping"}] if index == 0 else []
        chunks += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        chunks.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": finish, "stop_sequence": None}
    chunks.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}})
    chunks.append({"type": "message_stop"})
    lines = [(chunk["type"], json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))) for chunk in chunks]
    return [f"event: {name}\ndata: {line}\n\n".encode() for name, line in lines]


def _streamed(reply: Reply, path: str) -> list[bytes]:
    if path.endswith("/messages"):
        return message_events(reply)
    if path.endswith(("/responses", ":streamGenerateContent")):
        from tests.adapters.model_dialects import content_events, response_events  # as a program this file is alone

        return response_events(reply) if path.endswith("/responses") else content_events(reply)
    return events(reply)


def answer(reply: Reply, target: str = "") -> bytes:
    """A reply as the bytes of an HTTP answer, in the dialect of the request's target."""
    if reply.raw is not None:
        return reply.raw.encode() if isinstance(reply.raw, str) else reply.raw
    kind = "application/json" if isinstance(reply.body, str) else "text/event-stream"
    if reply.body is None:
        pieces = _streamed(reply, target.partition("?")[0])
    elif isinstance(reply.body, str | bytes):
        pieces = [reply.body.encode() if isinstance(reply.body, str) else reply.body]
    else:
        pieces = list(reply.body)
    headers = {"content-type": kind, **reply.headers}
    if reply.framing == "chunked":
        headers["transfer-encoding"] = "chunked"
        pieces = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece] + [b"0\r\n\r\n"]
    elif reply.framing == "length":
        headers["content-length"] = str(sum(map(len, pieces)))
    else:
        headers["connection"] = "close"
    lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + b"".join(pieces)


class ModelServer:
    """`requests` is the record, `asked` is set once it holds one; `connections` counts those that were made."""

    def __init__(self, replies: Sequence[Reply], tls: ssl.SSLContext | None = None) -> None:
        self.replies = list(replies)
        self.requests: list[Recorded] = []
        self.asked = asyncio.Event()
        self.goes_on = asyncio.Event()  # with what is held
        self.connections = 0
        self.port = 0
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> ModelServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def serve_forever(self) -> None:
        await self._server.serve_forever()

    async def all_closed(self) -> None:
        """Returns when no client holds a connection any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._answer_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client left, or the test is over; either way this connection is done
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; false ends the connection."""
        start, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = start.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if method == "GET":
            record = [recorded.__dict__ for recorded in self.requests]
            writer.write(answer(Reply(body=json.dumps(record), framing="length")))
            await writer.drain()
            return True
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(Recorded(method, target, headers, json.loads(body or b"null")))
        self.asked.set()
        if reply.delay:  # else who waits for the request may count on the answer's being on its way
            await asyncio.sleep(reply.delay)
        if reply.held:
            await self.goes_on.wait()
        writer.write(answer(reply, target)[: reply.only])
        await writer.drain()
        if reply.then == "hang":
            await reader.read()  # until the client gives up
        elif reply.then == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        return reply.then == "keep" and reply.framing != "close"


async def main(script: str) -> None:
    if os.path.exists(script):
        with open(script, encoding="utf-8") as file:
            script = file.read()
    async with ModelServer([Reply(**reply) for reply in json.loads(script)]) as server:
        print(json.dumps({"port": server.port}), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1]))
