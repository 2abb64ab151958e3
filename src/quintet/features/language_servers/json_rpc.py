"""JSON-RPC over a pair of streams, framed by Content-Length headers as language servers do.

Many requests may be under way; each ends with its own answer, with `Refused`, or with `ConnectionLost`, which says
why. Whatever breaks the framing ends the connection. Cancelling a request tells the other side and leaves the
connection usable: an answer that comes too late is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import msgspec

from quintet.domain.base import wire_json

MOST_BYTES = 50_000_000  # of one message
MOST_HEADERS = 20
END_SECONDS = 5.0  # for the other pipe to end too
METHOD_NOT_FOUND = -32601


class ConnectionLost(Exception):
    """The other side ended, or sent what is no message."""


class RpcRefused(Exception):
    """The other side answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Error(msgspec.Struct):
    code: int = 0
    message: str = ""


class _Message(msgspec.Struct):
    id: int | str | None = None
    method: str = ""
    params: Any = None
    result: Any = None
    error: _Error | None = None


class RpcConnection:
    """`answers` maps the other side's requests, and `hears` its notifications, to functions of their parameters."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answers: Mapping[str, Callable[[Any], Any]],
        hears: Mapping[str, Callable[[Any], None]],
        on_lost: Callable[[], None],
    ) -> None:
        self.lost = ""  # why, once it is
        self._reader = reader
        self._writer = writer
        self._answers = answers
        self._hears = hears
        self._on_lost = on_lost
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.create_task(self._read())

    async def request(self, method: str, params: Any) -> Any:
        number = next(self._numbers)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await answer
        except asyncio.CancelledError:
            if not self.lost:
                self._write({"method": "$/cancelRequest", "params": {"id": number}})
            raise
        finally:
            del self._waiting[number]

    async def notify(self, method: str, params: Any) -> None:
        await self._send({"method": method, "params": params})

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._lose("closed")

    def check(self) -> None:
        if self.lost:
            raise ConnectionLost(self.lost)

    async def _send(self, message: dict[str, Any]) -> None:
        self.check()
        self._write(message)
        try:
            await self._writer.drain()
        except OSError:
            # Whoever has ended no longer listens either, and the end of what it says is the better reason.
            if asyncio.current_task() is not self._reading:
                await asyncio.wait({self._reading}, timeout=END_SECONDS)
            raise ConnectionLost(self.lost or "it no longer accepts input") from None

    def _write(self, message: dict[str, Any]) -> None:
        """One message whole, so that a cancelled call cannot leave half of one."""
        data = msgspec.json.encode({"jsonrpc": "2.0", **message})
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))

    async def _read(self) -> None:
        why = "it ended"
        try:
            while True:
                await self._take(wire_json.decode(await self._body(), _Message))
        except asyncio.IncompleteReadError:
            pass
        except (ValueError, asyncio.LimitOverrunError, msgspec.MsgspecError) as error:
            why = f"it sent something that is not a message of the protocol ({error})"
        except (OSError, ConnectionLost):
            why = "it no longer accepts input"
        self._lose(why)

    async def _body(self) -> bytes:
        length = 0
        for _ in range(MOST_HEADERS):
            header = (await self._reader.readuntil(b"\n")).strip()
            name, colon, value = header.partition(b":")
            if not header and length:
                return await self._reader.readexactly(length)
            if not colon:
                raise ValueError(f"{header[:60]!r} is not a header")
            if name.lower() == b"content-length":
                length = int(value)
                if not 0 < length <= MOST_BYTES:
                    raise ValueError(f"a length of {length} bytes")
        raise ValueError("too many headers")

    async def _take(self, message: _Message) -> None:
        if message.method and message.id is not None:
            answer = self._answers.get(message.method)
            if answer:
                await self._send({"id": message.id, "result": answer(message.params)})
            else:
                error = {"code": METHOD_NOT_FOUND, "message": f"{message.method}: not supported"}
                await self._send({"id": message.id, "error": error})
        elif message.method:
            if hear := self._hears.get(message.method):
                with contextlib.suppress(msgspec.ValidationError):  # news that cannot be read is no news
                    hear(message.params)
        elif isinstance(message.id, int) and (waiting := self._waiting.get(message.id)) and not waiting.done():
            if message.error:
                waiting.set_exception(RpcRefused(message.error.code, message.error.message))
            else:
                waiting.set_result(message.result)

    def _lose(self, why: str) -> None:
        self.lost = self.lost or why
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionLost(self.lost))
                waiting.exception()  # its caller may have been cancelled meanwhile
        self._on_lost()
