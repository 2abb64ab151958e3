"""A child process that is spoken to over its stdin and stdout, for as long as it is wanted.

It runs in its own group and is ended as a whole. Should this process be killed, the child reads the end of its stdin,
and is expected to leave then; nothing else tells it. Of its stderr the last part is kept, for error messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Mapping, Sequence

from quintet.adapters.proc import descendants
from quintet.adapters.processes import kill_tree
from quintet.domain.errors import ToolFailed

KEPT_BYTES = 4_000
_LINE_BYTES = 65_536
_CHUNK = 65_536


class Piped:
    """Made by `start`; `reader` and `writer` are the child's stdout and stdin."""

    def __init__(self, argv: Sequence[str], cwd: str, environment: Mapping[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise ToolFailed(f"{argv[0]} cannot be started: {error.strerror}") from error
        self.reader = asyncio.StreamReader(_LINE_BYTES)
        self._tail = b""

    @classmethod
    async def start(cls, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Piped:
        child = cls(argv, cwd, environment)
        connecting = asyncio.ensure_future(child._connect())
        try:
            await asyncio.shield(connecting)
        except asyncio.CancelledError:
            await connecting
            await child.end()
            raise
        return child

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        source, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self.reader), self._process.stdout
        )
        errors = asyncio.StreamReader(_LINE_BYTES)
        complaints, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(errors), self._process.stderr)
        sink, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), self._process.stdin
        )
        self.writer = asyncio.StreamWriter(sink, protocol, None, loop)
        self._pipes = [source, complaints, sink]
        self._listening = asyncio.create_task(self._listen(errors))

    async def _listen(self, errors: asyncio.StreamReader) -> None:
        while data := await errors.read(_CHUNK):
            self._tail = (self._tail + data)[-KEPT_BYTES:]

    def last_words(self, lines: int = 5) -> str:
        """The end of what it wrote to stderr."""
        return "\n".join(self._tail.decode("utf-8", "replace").strip().splitlines()[-lines:])

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    async def dismiss(self, seconds: float) -> None:
        """Let it end by itself, as it should when its stdin does; then end it."""
        self.writer.close()
        waiting = asyncio.create_task(asyncio.to_thread(_waited, self._process, seconds))
        await asyncio.shield(waiting)
        await self.end()

    async def end(self) -> None:
        """Kill it with all it started. It holds nothing of ours, so it is not asked first."""
        kill_tree(self._process.pid, descendants(self._process.pid))
        await asyncio.to_thread(self._process.wait)
        await asyncio.wait([self._listening], timeout=0.2)  # what it said last is still in the pipe
        self._listening.cancel()
        for pipe in self._pipes:
            pipe.close()
        await asyncio.gather(self._listening, return_exceptions=True)


def _waited(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
