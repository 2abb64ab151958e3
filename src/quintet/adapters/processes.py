"""Child processes: started in their own group with a small environment, and ended as a whole.

A command is over when its own process is; what it left behind in its group is ended with it, and does not keep its
output open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence

from quintet.adapters.proc import descendants, process_start
from quintet.domain.errors import ToolFailed
from quintet.domain.grants import Grant
from quintet.domain.ports import Finished

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "LANG", "TZ", "VIRTUAL_ENV")
GRACE_SECONDS = 2.0  # between the polite signal and the last one
_CHUNK = 65_536


def child_environment() -> dict[str, str]:
    passed = {key: value for key, value in os.environ.items() if key in PASSED_ON or key.startswith("LC_")}
    return {"PATH": os.defpath, **passed, "GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "GIT_PAGER": "cat"}


def kill_tree(leader: int, tree: Sequence[tuple[int, str]]) -> None:
    """Kill a group by its leader, and what else was found below it, though it may have left the group."""
    _signal_group(leader, signal.SIGKILL)
    for pid, started in tree:
        if started and process_start(pid) == started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


class LocalProcesses:
    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        grant: Grant,
        timeout: float,
        keep: int = 30_000,
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        output = _Output(keep, on_output)
        child = _Child(argv, cwd, output)
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                await child.ended.wait()
        except TimeoutError:
            timed_out = True
            await child.end_tree()
        except asyncio.CancelledError:
            await asyncio.shield(child.end_tree())
            raise
        finally:
            child.release()
        code = child.process.returncode or 0
        return Finished(code if code >= 0 else 128 - code, output.text(), timed_out, output.dropped)


class _Child:
    """A started process, its output read as it comes, and an event for its end."""

    def __init__(self, argv: Sequence[str], cwd: str, output: _Output) -> None:
        try:
            self.process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=child_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                bufsize=0,
            )
        except FileNotFoundError as error:
            missing = f"{cwd}: no such folder" if not os.path.isdir(cwd) else f"{argv[0]} is not installed here"
            raise ToolFailed(missing) from error
        except OSError as error:
            raise ToolFailed(f"{argv[0]} cannot be started: {error.strerror}") from error
        assert self.process.stdout
        self.ended = asyncio.Event()
        self._output = output
        self._pipe = self.process.stdout.fileno()
        self._loop = asyncio.get_running_loop()
        os.set_blocking(self._pipe, False)
        self._loop.add_reader(self._pipe, self._readable)
        self._watch = os.pidfd_open(self.process.pid)
        self._loop.add_reader(self._watch, self._exited)

    def _readable(self) -> None:
        try:
            data = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._output.add(data)
        else:
            self._loop.remove_reader(self._pipe)

    def _exited(self) -> None:
        self._loop.remove_reader(self._watch)
        self.process.wait()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._pipe, _CHUNK):
                self._output.add(data)
        self.ended.set()

    async def end_tree(self) -> None:
        """Interrupt the group, wait a moment, then kill the whole tree."""
        tree = descendants(self.process.pid)
        _signal_group(self.process.pid, signal.SIGINT)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await self.ended.wait()
        kill_tree(self.process.pid, tree)
        await self.ended.wait()

    def release(self) -> None:
        """Let go of everything; what the command left behind in its group ends here."""
        _signal_group(self.process.pid, signal.SIGKILL)
        self._loop.remove_reader(self._pipe)
        self._loop.remove_reader(self._watch)
        os.close(self._watch)
        assert self.process.stdout
        self.process.stdout.close()


class _Output:
    """The beginning and the end of what was printed."""

    def __init__(self, keep: int, on_output: Callable[[str], None] | None) -> None:
        self._half = keep // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._on_output = on_output
        self.dropped = 0

    def add(self, data: bytes) -> None:
        if self._on_output:
            self._on_output(data.decode("utf-8", "replace"))
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if (over := len(self._tail) - self._half) > 0:
            del self._tail[:over]
            self.dropped += over

    def text(self) -> str:
        middle = f"\n… {self.dropped} bytes left out …\n".encode() if self.dropped else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")
