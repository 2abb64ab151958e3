"""Child processes: started in their own group with a small environment, and ended as a whole."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence

from quintet.adapters.proc import descendants, process_start
from quintet.domain.errors import ToolFailed
from quintet.domain.grants import Grant
from quintet.domain.ports import Finished

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "LANG", "TZ", "VIRTUAL_ENV")
GRACE_SECONDS = 2.0  # between the polite signal and the last one
HEAD_BYTES = TAIL_BYTES = 15_000  # of the output that is kept; the middle goes first
_CHUNK = 65_536


def child_environment() -> dict[str, str]:
    passed = {key: value for key, value in os.environ.items() if key in PASSED_ON or key.startswith("LC_")}
    return {"PATH": os.defpath, **passed, "GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "GIT_PAGER": "cat"}


class LocalProcesses:
    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        grant: Grant,
        timeout: float,
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env=child_environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            if not os.path.isdir(cwd):
                raise ToolFailed(f"{cwd}: no such folder") from error
            raise ToolFailed(f"{argv[0]} is not installed here") from error
        output = _Output(on_output)
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                await _drain(process, output)
                await process.wait()
        except TimeoutError:
            timed_out = True
            await end_tree(process)
        except asyncio.CancelledError:
            await asyncio.shield(end_tree(process))
            raise
        finally:
            end_group(process.pid, signal.SIGKILL)  # what the command left behind in its group
        code = process.returncode if process.returncode is not None else -1
        return Finished(code if code >= 0 else 128 - code, output.text(), timed_out, output.dropped)


async def _drain(process: asyncio.subprocess.Process, output: _Output) -> None:
    assert process.stdout
    ended = asyncio.ensure_future(process.wait())
    while True:
        chunk = asyncio.ensure_future(process.stdout.read(_CHUNK))
        await asyncio.wait({chunk, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not chunk.done():
            # The shell is gone but something it left behind still holds the pipe: take what is there, then leave.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await asyncio.shield(chunk)
            if not chunk.done():
                chunk.cancel()
                return
        data = chunk.result()
        if not data:
            return
        output.add(data)


class _Output:
    """The beginning and the end of what was printed."""

    def __init__(self, on_output: Callable[[str], None] | None) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._on_output = on_output
        self.dropped = 0

    def add(self, data: bytes) -> None:
        if self._on_output:
            self._on_output(data.decode("utf-8", "replace"))
        room = HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if (over := len(self._tail) - TAIL_BYTES) > 0:
            del self._tail[:over]
            self.dropped += over

    def text(self) -> str:
        middle = f"\n… {self.dropped} bytes left out …\n".encode() if self.dropped else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")


async def end_tree(process: asyncio.subprocess.Process) -> None:
    """Interrupt the group, wait a moment, then kill the whole tree."""
    tree = descendants(process.pid)
    end_group(process.pid, signal.SIGINT)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE_SECONDS):
            await process.wait()
    end_group(process.pid, signal.SIGKILL)
    for pid, started in tree:
        if started and process_start(pid) == started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    await process.wait()


def end_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
