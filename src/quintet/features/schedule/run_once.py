"""One scheduled run: what `quintet -p` would do, as a process of its own, with the dials of the schedule.

The text goes in by standard input: whatever it says, it is no flag. A run ends with the worker that started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from typing import Any

from quintet.domain.dials.axes import RunControl
from quintet.features.schedule.values import RunResult, ScheduledWork

PROGRAM = (sys.executable, "-P", "-m", "quintet")  # not from the folder we stand in
CHUNK = 65_536
KEPT_BYTES = 1_000_000  # of the end of its output, where the result is
KEPT_ERRORS = 2_000
END_SECONDS = 20.0  # between being told to end and being killed
REASON = 300  # characters
_PR_SET_PDEATHSIG = 1


def arguments(work: ScheduledWork, *, held: bool = False) -> list[str]:
    """Every dial is said that a setting could raise. `held`: nobody raises one later, either."""
    words = ["--begun-by", "schedule", *(["--held"] if held else []), "--mode", work.work_mode]
    if work.control_given or work.run_control is not RunControl.AUTONOMOUS:
        words += ["--control", work.run_control]
    words += ["--permission-profile", work.permission_profile, "--model-mode", work.model_mode]
    words += [f"--agent={work.agent}"] if work.agent else []
    words += [f"--model={work.model}"] if work.model else []
    words += [f"--max-turns={work.max_turns}"] if work.max_turns is not None else []
    words += [f"--max-cost={work.max_cost}"] if work.max_cost is not None else []
    return ["-p", "-", "--output-format", "stream-json", *map(str, words)]


async def run_work(
    work: ScheduledWork,
    *,
    seconds: float,
    stop: asyncio.Event,
    begun: Callable[[str], None],
    program: Sequence[str] = PROGRAM,
    held: bool = False,
) -> RunResult:
    """Its result, however it ended; `begun` is told the session. A stop, or the end of its time, ends it."""
    if not os.path.isdir(work.directory):
        return RunResult(None, result="failed", reason=f"the folder {work.directory} no longer exists")
    ask = _dies_with(os.getpid()) if sys.platform == "linux" else None
    try:
        process = await asyncio.create_subprocess_exec(
            *program,
            *arguments(work, held=held),
            cwd=work.directory,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
            preexec_fn=ask,
        )
    except OSError as error:
        return RunResult(None, result="failed", reason=f"it cannot be started: {error.strerror}")
    output = _Output(begun)
    reading = asyncio.gather(_feed(process, work.text), output.read(process), output.read_errors(process))
    stopped: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
    why = ""
    try:
        done, _ = await asyncio.wait({reading, stopped}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if reading not in done:
            why = "ended: the worker was told to stop" if stopped in done else f"ended after {seconds / 60:g} minutes"
            await _end(process, reading)
        code = await process.wait()
    finally:
        stopped.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
        with contextlib.suppress(Exception):
            await reading
    return output.result(code, why)


async def _end(process: Process, reading: asyncio.Future[Any]) -> None:
    """As one ends it at a terminal; who does not listen is killed, with what it started."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    _, late = await asyncio.wait({reading}, timeout=END_SECONDS)
    if late:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def _feed(process: Process, text: str) -> None:
    assert process.stdin
    with contextlib.suppress(ConnectionError):
        process.stdin.write(text.encode())
        await process.stdin.drain()
    process.stdin.close()


class _Output:
    """The events that a run prints, as far as they are needed: which session, and how it ended."""

    def __init__(self, begun: Callable[[str], None]) -> None:
        self._begun = begun
        self._session = ""
        self._head = b""
        self._tail = bytearray()
        self._errors = b""

    async def read(self, process: Process) -> None:
        assert process.stdout
        while chunk := await process.stdout.read(CHUNK):
            if not self._session and len(self._head) < CHUNK:
                self._head += chunk
                self._find_session()
            self._tail += chunk
            if len(self._tail) > 2 * KEPT_BYTES:
                del self._tail[:-KEPT_BYTES]

    async def read_errors(self, process: Process) -> None:
        assert process.stderr
        while chunk := await process.stderr.read(CHUNK):
            self._errors = (self._errors + chunk)[-KEPT_ERRORS:]

    def _find_session(self) -> None:
        first, newline, _ = self._head.partition(b"\n")
        found = _object(first) if newline else {}
        if found.get("type") == "session":
            self._session = str(found.get("session", ""))[:100]
            self._begun(self._session)

    def result(self, code: int, why: str) -> RunResult:
        last = _object(bytes(self._tail).rstrip(b"\n").rpartition(b"\n")[2])
        ended = last if last.get("type") == "result" else {}
        error = ended.get("error")
        told = error.get("message", "") if isinstance(error, dict) else ended.get("delivery_reason")
        told = told or ended.get("reason") or (self._errors.decode(errors="replace") if code else "")
        status = str(ended.get("status") or ("done" if code == 0 else "failed"))
        session = self._session or str(ended.get("session") or "")
        code = 128 - code if code < 0 else code  # as a shell tells of a signal
        return RunResult(code, session, status[:40], (why or str(told).strip())[:REASON])


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _dies_with(parent: int) -> Callable[[], None]:
    """What the new process asks before it becomes the program: to be told to end when its worker is gone."""
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return ask
