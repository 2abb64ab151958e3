"""Kept sandboxes: those that stay up for the next command of the same grant, since putting one up takes longest.

A sandbox is used again only by a command that would get the very same one, on the same files: every path it names is
the one it was. One command at a time; nothing of a command outlives it. The sandbox of a single command is not kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Mapping, Sequence

from quintet.adapters.processes.bounded_output import Output, PipeReader
from quintet.adapters.sandbox.containment import Launch, SandboxPlan
from quintet.adapters.sandbox.kept_sandbox_init import INTERRUPT, KILL, MOST_BYTES, READY

MOST_KEPT = 2
MOST_SEEN = 4
READY_SECONDS = 0.5
GRACE_SECONDS = 0.5  # between the polite signal and the last one: an interrupt is over within a second


class KeptSandboxes:
    def __init__(self) -> None:
        self._kept: dict[SandboxPlan, KeptSandbox] = {}  # the one used last at the end
        self._left: list[KeptSandbox] = []  # taken down, and perhaps not gone yet
        self._seen: list[SandboxPlan] = []  # had by one command, the last one at the end
        self._closed = False

    async def enter(self, launch: Launch, *outputs: Output) -> KeptCommand | None:
        """The command, started in a kept sandbox; None if there is none for it now. Its errors go to a second output,
        if there is one."""
        plan = launch.keepable
        if plan is None:
            return None
        sandbox = self._kept.get(plan)
        if sandbox and sandbox.ended:
            self._leave(plan)
        elif sandbox:
            self._kept[plan] = self._kept.pop(plan)
            return await sandbox.run(launch, *outputs)
        return None

    def settle(self, launch: Launch, environment: Mapping[str, str]) -> None:
        """After a command that had a sandbox of its own: the second time, one is put up for the next."""
        plan = launch.keepable
        if plan and plan in self._seen and plan not in self._kept and not self._closed:
            self._kept[plan] = KeptSandbox(plan, environment)
            if len(self._kept) > MOST_KEPT:
                self._leave(next(iter(self._kept)))
        self._seen = [*(one for one in self._seen if one != plan), *((plan,) if plan else ())][-MOST_SEEN:]

    def _leave(self, plan: SandboxPlan) -> None:
        sandbox = self._kept.pop(plan)
        sandbox.leave()
        self._left = [*(one for one in self._left if one.process.poll() is None), sandbox]

    @property
    def free(self) -> bool:
        """Whether there is a sandbox that waits for a command."""
        return any(sandbox.free for sandbox in self._kept.values())

    async def close(self) -> None:
        self._closed = True  # a command that is cut short may end after this
        for plan in list(self._kept):
            self._leave(plan)
        for sandbox in self._left:
            await asyncio.to_thread(sandbox.process.wait)


class KeptSandbox:
    """A sandbox that runs one command after another."""

    def __init__(self, plan: SandboxPlan, environment: Mapping[str, str]) -> None:
        self._line, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with inside:
            self.process = subprocess.Popen(
                (*plan.argv, str(inside.fileno())),
                cwd=plan.cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(inside.fileno(),),
            )
        self._line.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._line, self._told)
        self._command: KeptCommand | None = None
        self._ready = asyncio.Event()
        self._left = False  # no command comes any more
        self.ended = False

    @property
    def free(self) -> bool:
        return self._ready.is_set() and not (self._command or self.ended)

    async def run(self, launch: Launch, *outputs: Output) -> KeptCommand | None:
        request = json.dumps([launch.cwd, *launch.command]).encode()
        if len(request) > MOST_BYTES:
            return None
        with contextlib.suppress(TimeoutError):  # what is almost up is there sooner than another would be
            async with asyncio.timeout(READY_SECONDS):
                await self._ready.wait()
        if not self.free:
            return None
        pipes = [os.pipe() for _ in outputs]
        try:
            socket.send_fds(self._line, [request], [theirs for _, theirs in pipes])
        except OSError:  # it has just ended
            for ours, _ in pipes:
                os.close(ours)
            return None
        finally:
            for _, theirs in pipes:
                os.close(theirs)
        self._command = KeptCommand(self, [ours for ours, _ in pipes], outputs)
        return self._command

    def tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            self._line.send(word)

    def _told(self) -> None:
        try:
            said = self._line.recv(MOST_BYTES)
        except OSError:
            said = b""
        command = self._command
        if said == READY:
            self._ready.set()
        elif command:
            self._command = None
            command.over(int(said) if said else None)
        if not said or (self._left and not self._command):
            self._end()

    def leave(self) -> None:
        """Take it down, once the command in it is over."""
        self._left = True
        if not self._command:
            self._end()

    def kill(self) -> None:
        self.process.kill()

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            self._ready.set()
            self._loop.remove_reader(self._line)
            self._line.close()


class KeptCommand:
    """A command in a kept sandbox."""

    def __init__(self, sandbox: KeptSandbox, printed: Sequence[int], outputs: Sequence[Output]) -> None:
        self.ended = asyncio.Event()
        self.exit_code = 0
        self._sandbox = sandbox
        self._printed = printed
        self._inlets = [PipeReader(handle, output) for handle, output in zip(printed, outputs, strict=True)]
        self._answered = True

    def failure(self, text: str) -> str:
        return "" if self._answered else "the sandbox ended while the command ran; its outcome is unknown"

    def over(self, exit_code: int | None) -> None:
        """It ended with this code, or with the sandbox; nothing of it lives."""
        for inlet in self._inlets:
            inlet.drain()
        self._answered = exit_code is not None
        self.exit_code = exit_code or 0
        self.ended.set()

    async def end_tree(self) -> None:
        for word in (INTERRUPT, KILL):
            self._sandbox.tell(word)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self.ended.wait()
                    return
        self._sandbox.kill()
        await self.ended.wait()

    def release(self) -> None:
        for inlet, handle in zip(self._inlets, self._printed, strict=True):
            inlet.stop()
            os.close(handle)
