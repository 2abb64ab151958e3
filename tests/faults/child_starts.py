"""Kills a process of Quintet's just after it starts a child, and looks at what is left of that child.

Whoever looks is the subreaper of all that is started here: what is orphaned becomes its own child, so that nothing else
on the machine is looked at or ended.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.looking import put_up_a_room_at_once
from tests.tools.calling import Caller

from quintet.adapters.processes.piped_child import Piped
from quintet.adapters.processes.processes import LocalProcesses, ShellHooks, own_environment
from quintet.adapters.sandbox.confine import landlock_version, network_can_be_blocked
from quintet.adapters.sandbox.containment import Containment
from quintet.domain.permission.effects import READING, Effect, Grant
from quintet.domain.permission.gate import Sandbox

_PR_SET_CHILD_SUBREAPER = 36
SECONDS = 60.0  # a limit, not a measure
LINE = "setsid sleep {0} & (setsid nohup sleep {0} >/dev/null 2>&1 &); sleep {0}"
WAYS = (*(("partial",) if landlock_version() and network_can_be_blocked() else ()), *("none", "reading", "own"))
WAYS += ("bwrap", "kept", "hook", "server")
_KINDS = {"bwrap": Sandbox.BWRAP, "kept": Sandbox.BWRAP, "partial": Sandbox.PARTIAL}


class Starts:
    """One project, in which commands are started in every way there is."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        kinds = (Sandbox.BWRAP, Sandbox.PARTIAL, Sandbox.NONE)
        self._containments: dict[Sandbox, Containment] = {kind: Caller(root, kind).containment for kind in kinds}
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def killed(self, way: str, milliseconds: float) -> list[str]:
        """The command lines of what is left a while after a process that started a child so long ago was killed."""
        victim = os.fork()
        if not victim:
            try:
                self._start(way, milliseconds)
            finally:
                os._exit(1)
        _, status = os.waitpid(victim, 0)
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            return [f"{way}: the process was to be killed, and ended with {os.waitstatus_to_exitcode(status)}"]
        return _left()

    def _start(self, way: str, milliseconds: float) -> None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 2)
        if way != "kept":
            sys.addaudithook(_when("subprocess.Popen", lambda: _die_in(milliseconds)))
        asyncio.run(self._run(way, milliseconds))

    async def _run(self, way: str, milliseconds: float) -> None:
        line = LINE.format(600 + os.getpid() / 10_000_000)
        containment = self._containments[_KINDS.get(way, Sandbox.NONE)]
        if way == "hook":
            await ShellHooks().run(line, b"", self._root, SECONDS)
            return
        if way == "server":
            launch = containment.launch(("bash", "-c", line), self._root, Grant((Effect.READ,)))
            await Piped.start(launch, own_environment())
            await asyncio.sleep(SECONDS)
            return
        effects = tuple(READING) if way == "reading" else (Effect.EXECUTE,)
        grant = Grant(effects, () if way == "reading" else (self._root,))
        processes = LocalProcesses(containment)
        if way == "kept":
            await put_up_a_room_at_once(processes, self._root, grant)
            _die_in(milliseconds)
        await processes.run(
            ("bash", "-c", line),
            cwd=self._root,
            grant=grant,
            timeout=SECONDS,
            as_user=way == "own",
        )


def _when(event: str, then: Callable[[], object]) -> Callable[[str, tuple[object, ...]], None]:
    def seen(name: str, _: tuple[object, ...]) -> None:
        if name == event:
            then()

    return seen


def _die_in(milliseconds: float) -> None:
    threading.Timer(milliseconds / 1000, os.kill, (os.getpid(), signal.SIGKILL)).start()


def _left() -> list[str]:
    """Who is still there after a while; they are ended."""
    deadline = time.monotonic() + SECONDS / 6
    while children := _children():
        if time.monotonic() > deadline:
            left = [_line(child) for child in children]
            _end_all()
            return left
        time.sleep(0.005)
    return []


def _children() -> list[int]:
    """Of this process, those that live; the others are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return []
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def _end_all() -> None:
    while children := _children():
        for child in children:
            os.kill(child, signal.SIGKILL)  # a child of ours that was not waited for: its id is nobody else's
        time.sleep(0.005)


def _line(pid: int) -> str:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read().decode("utf-8", "replace").split("\0")
    return " ".join(words)[:60] + " … " + " ".join(words)[-60:]
