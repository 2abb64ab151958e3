"""Messages of JSON-RPC as lines: what is no message is answered with an error, and the next line is read.

What is sent goes out in the order of the calls of `send`, which waits only for a client that does not read.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from quintet.surfaces.terminal import lines_of_input

PARSE_ERROR, INVALID_REQUEST = -32700, -32600


class LineTransport:
    def __init__(self, lines: AsyncIterator[str], out: _Output) -> None:
        self._lines = lines
        self._out = out

    @classmethod
    async def opened(cls, reads: int, writes: int) -> LineTransport:
        out = _Output(writes)
        await out.open()
        return cls(lines_of_input(reads), out)

    async def send(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
        await self._out.drained()

    async def receive(self) -> dict[str, Any] | None:
        async for line in self._lines:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                await self._refuse(PARSE_ERROR, "Parse error")
                continue
            if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
                await self._refuse(INVALID_REQUEST, "Invalid request")
                continue
            return message
        return None

    async def _refuse(self, code: int, text: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}})

    async def close(self) -> None:
        self._out.close()


class _Output(asyncio.BaseProtocol):
    """The end that is written to: a pipe, a socket or a terminal without waiting, a file as it is."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._pipe: asyncio.WriteTransport | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._lost = False

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        file = open(self._handle, "wb", buffering=0)  # noqa: SIM115  # closed with the transport
        try:
            self._pipe, _ = await loop.connect_write_pipe(lambda: self, file)
        except ValueError:  # a regular file, which never blocks
            os.set_blocking(self._handle, True)
            self._file = file

    def write(self, line: bytes) -> None:
        if self._lost:
            raise ConnectionError("the client has disconnected")
        if self._pipe:
            self._pipe.write(line + b"\n")
        else:
            self._file.write(line + b"\n")

    async def drained(self) -> None:
        await self._room.wait()

    def close(self) -> None:
        (self._pipe or self._file).close()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        self._room.set()
