"""A child process that is spoken to over its stdin and stdout, for as long as it is wanted.

It runs in its own group and is ended as a whole, and should this process be killed, the child ends with it. Of its
stderr the last part is kept, for error messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Mapping

from quintet.adapters.processes.bounded_output import PipeReader
from quintet.adapters.processes.lifeline import Lifeline
from quintet.adapters.processes.processes import kill_tree
from quintet.adapters.processes.system import descendants
from quintet.adapters.sandbox.containment import Launch
from quintet.domain.base.errors import ToolFailed

KEPT_BYTES = 4_000
_LINE_BYTES = 65_536


class _Tail:
    """The last part of what came."""

    def __init__(self) -> None:
        self.data = b""

    def add(self, data: bytes) -> None:
        self.data = (self.data + data)[-KEPT_BYTES:]


class Piped:
    """Made by `start`; `reader` and `writer` are the child's stdout and stdin."""

    def __init__(self, launch: Launch, environment: Mapping[str, str], *, beside: bool = False) -> None:
        self._lifeline = Lifeline(launch)
        try:
            self._process = subprocess.Popen(
                self._lifeline.argv,
                cwd=launch.cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=not beside,
                process_group=0 if beside else None,
                pass_fds=self._lifeline.handles,
                bufsize=0,
            )
        except OSError as error:
            self._lifeline.close()
            name = (launch.command or launch.argv)[0]
            raise ToolFailed(f"{name} cannot be started: {error.strerror}") from error
        finally:
            self._lifeline.handed_over()
        self.reader = asyncio.StreamReader(_LINE_BYTES)
        self._tail = _Tail()
        self._ended = asyncio.Event()

    @classmethod
    async def start(cls, launch: Launch, environment: Mapping[str, str], *, beside: bool = False) -> Piped:
        """`beside` leaves it in this process's session: Linux weighs priorities within a session, not between two."""
        child = cls(launch, environment, beside=beside)
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
        sink, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), self._process.stdin
        )
        self.writer = asyncio.StreamWriter(sink, protocol, None, loop)
        self._pipes = [source, sink]
        assert self._process.stderr
        self._errors = PipeReader(self._process.stderr.fileno(), self._tail)
        self._watch = os.pidfd_open(self._process.pid)
        loop.add_reader(self._watch, self._exited)

    def _exited(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watch)
        self._process.wait()
        self._errors.drain()  # what it said last is still in the pipe
        self._ended.set()

    def last_words(self, lines: int = 5) -> str:
        """The end of what it wrote to stderr."""
        return "\n".join(self._tail.data.decode("utf-8", "replace").strip().splitlines()[-lines:])

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    async def leaves(self, seconds: float) -> bool:
        """Whether it ends by itself within so long. Then its exit code and its last words are known."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        return self._ended.is_set()

    async def dismiss(self, seconds: float) -> None:
        """Let it end by itself, as it should when its stdin does; then end it."""
        self.writer.close()
        try:
            await self.leaves(seconds)
        finally:
            await asyncio.shield(self.end())

    async def end(self) -> None:
        """Kill it with all it started. It holds nothing of ours, so it is not asked first."""
        kill_tree(self._process.pid, descendants(self._process.pid))
        await self._ended.wait()
        if self._watch < 0:
            return  # somebody else was faster
        os.close(self._watch)
        self._watch = -1
        self._errors.stop()
        self._lifeline.close()
        for pipe in self._pipes:
            pipe.close()
        if self._process.stderr:
            self._process.stderr.close()
