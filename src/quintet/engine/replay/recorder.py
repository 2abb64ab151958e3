"""Writes a recording while its session runs, and lets in one at a time what the engine waits for.

Each is let in when the engine has come to rest after the one before: then its order is all there is to say of it, and a
replay takes the same steps. Recording never stops a session: what cannot be written down ends the recording, not the
run, and says so once. What is written is handed on when the journal is durable, never synced.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from quintet.domain.base.redaction import Redaction, Redactor
from quintet.domain.journal.recording import UNRECORDED, Header, RecordEntry, fault_of, line

T = TypeVar("T")
NO_FORM = (TypeError, ValueError, OverflowError, RecursionError)  # of what has no form in JSON
REST = 8  # rounds of the loop; no consequence of what came in is more tasks and futures away


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class Recorder:
    """Writes entries, successive pieces of text as one, in an order that a replay can keep."""

    def __init__(self, sink: Sink, redactor: Redactor | None = None) -> None:
        self._sink: Sink | None = sink
        self._redactor = redactor or Redaction()
        self._pieces: list[str] = []  # of a text that is not written yet
        self._text_kind = ""
        self._until_rest = 0  # rounds of the loop
        self._waiting: deque[asyncio.Future[None]] = deque()  # to be let in
        self.count = 0  # of entries and pieces
        self.ended = ""  # why it went no further, where it could not
        self.on_end: Callable[[str], None] = lambda why: None  # told that, once, when the engine is at no other work

    def begin(self, header: Header) -> None:
        self._write(header)

    def add(self, kind: str, value: Any = None, error: BaseException | None = None) -> None:
        self._write_text()
        self._write(RecordEntry(kind, value, fault_of(error) if error else None))
        self.count += 1
        if not self._until_rest:
            asyncio.get_running_loop().call_soon(self._tick)
        self._until_rest = REST

    def text(self, kind: str, piece: str) -> None:
        if kind != self._text_kind:
            self._write_text()
        self._text_kind = kind
        self._pieces.append(piece)
        self.count += 1  # the engine is as near to rest as before: it takes the piece before anything else comes in

    def _write_text(self) -> None:
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            self._write(RecordEntry(self._text_kind, "".join(pieces)))

    def flush(self) -> None:
        if self._sink:
            try:
                self._sink.flush()
            except OSError as error:
                self._end(str(error))

    def close(self) -> None:
        sink, self._sink = self._sink, None
        if sink:
            sink.close()

    def _write(self, value: Header | RecordEntry) -> None:
        if not self._sink:
            return
        try:
            data = line(value)
            data = line(self._redactor.clean(value)) if self._redactor.in_json(data) else data
        except NO_FORM as error:
            what = f"what came in as {value.kind}" if isinstance(value, RecordEntry) else "what the session starts with"
            self._end(f"{what} cannot be written down ({type(error).__name__}: {error})", in_file=value)
        else:
            self._put(data)

    def _put(self, data: bytes) -> None:
        if self._sink:
            try:
                self._sink.write(data)
            except (OSError, ValueError) as error:  # a full disk, or a file that was closed
                self._end(str(error))

    def _end(self, why: str, in_file: Header | RecordEntry | None = None) -> None:
        """End the recording early. A header that has no form begins no part that could say why."""
        if self.ended:
            return
        self.ended = why.encode("utf-8", "replace").decode()
        if isinstance(in_file, RecordEntry):
            self._put(line(RecordEntry(UNRECORDED, self._redactor.text(self.ended))))
        self.close()
        if not isinstance(in_file, Header):  # then nobody is there to be told: who opens the session looks at `ended`
            asyncio.get_running_loop().call_soon(lambda: self.on_end(self.ended))

    # ── what is asked for, and what is waited for

    def asked(self, kind: str, ask: Callable[[], T]) -> T:
        try:
            value = ask()
        except Exception as error:
            self.add(kind, error=error)
            raise
        self.add(kind, value)
        return value

    async def awaited(self, kind: str, wait: Awaitable[T], shown: Callable[[T], Any] = lambda value: value) -> T:
        try:
            value = await wait
            await self.settled()
        except BaseException as error:
            await self.come_in_at_last(kind, error)
            raise
        self.add(kind, shown(value))
        return value

    async def settled(self) -> None:
        """Returns when what came in before has had all its consequences, so that the next may come in."""
        if self._until_rest:
            let_in = asyncio.get_running_loop().create_future()
            self._waiting.append(let_in)
            await let_in

    async def come_in_at_last(self, kind: str, error: BaseException | None = None) -> None:
        """For what has failed, or was cancelled: it has to come in, however often it is cancelled before it is let in.

        That is not forgotten: its task's next wait ends so, as in a replay.
        """
        cancelled, settled = False, False
        while not settled:
            try:
                await self.settled()
                settled = True
            except asyncio.CancelledError:
                cancelled = True
        self.add(kind, error=error)
        if cancelled and not isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            assert task
            task.cancel()

    def _tick(self) -> None:
        """One round of the loop with nothing new; after the last of them the next that waits is let in."""
        self._until_rest -= 1
        if not self._until_rest:
            while self._waiting and self._waiting[0].done():  # cancelled while it waited
                self._waiting.popleft()
            if self._waiting:
                self._waiting.popleft().set_result(None)
                self._until_rest = REST
        if self._until_rest:
            asyncio.get_running_loop().call_soon(self._tick)
