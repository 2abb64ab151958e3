"""Background shells: commands at a terminal of their own that go on while the agent does other things.

Each keeps the end of its output in memory and, when that is too little, the whole in a file. All end with the session,
and however one ends, everything it started ends with it.
"""

from __future__ import annotations

import array
import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence

from msgspec import structs

from quintet.adapters.processes.bounded_output import Output
from quintet.adapters.processes.processes import CLOSING_SECONDS, GRACE_SECONDS, Child, with_secrets
from quintet.adapters.processes.system import descendants, is_busy
from quintet.adapters.sandbox.confine import NO_REPORT, TERMINAL
from quintet.adapters.sandbox.containment import CONFINE, Containment, Launch
from quintet.adapters.secrets.vault import Vault
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.redaction import Chunks
from quintet.domain.permission.effects import Grant
from quintet.domain.ports.ports import ShellState
from quintet.domain.turn.messages import ToolCall

KEPT_BYTES = 1_000_000  # of output that has not been read yet
SPILLED_BYTES = 30_000  # printed in all before it goes to a file
MOST_SHELLS = 16
ROWS_COLUMNS = (40, 200)
SHELLS = ("bash", "sh", "dash", "zsh")
LINE_EDITORS = ("bash", "zsh")  # these take the terminal's own line editing away while they wait for a line
_SHELL = rf"\s*(?:/\S*/)?(?:{'|'.join(SHELLS)})(?:\s+(?:-[il]+|--(?:login|norc|noprofile|posix)))*\s*"  # and no script
_LINE_ENDS = r"[\n\r\x03]"  # Enter, or Ctrl+C, which drops what was typed


class BackgroundShells:
    def __init__(self, containment: Containment, outputs: str, vault: Vault | None = None) -> None:
        self._containment = containment
        self._vault = vault
        self._outputs = outputs
        self._shells: dict[str, _Shell] = {}
        self._starting = asyncio.Lock()

    async def start(self, name: str, argv: Sequence[str], *, call: ToolCall, cwd: str, grant: Grant) -> str:
        async with self._starting:  # names are given and counted one at a time
            name = name or self._next_name()
            known = self._shells.get(name)
            if known and known.alive:
                raise ToolFailed(f"shell {name} is still running: bash_output reads it, kill_shell ends it")
            if sum(shell.alive for shell in self._shells.values()) >= MOST_SHELLS:
                raise ToolFailed(f"{MOST_SHELLS} shells are running; end one with kill_shell")
            words = _at_terminal(argv)
            launch = await asyncio.to_thread(self._containment.launch, words, cwd, grant)
            launch = with_secrets(launch, grant, self._vault)
            whole = os.path.join(self._outputs, f"shell-{name}-{time.time_ns()}.txt")
            started = ShellState(name, call, grant, whole)
            redacted = self._vault.chunks() if self._vault else None
            self._shells[name] = _Shell(
                started, launch, Output(SPILLED_BYTES, whole=whole), argv, self._containment.settle, redacted
            )
            return name

    def _next_name(self) -> str:
        return next(name for number in range(1, len(self._shells) + 2) if (name := str(number)) not in self._shells)

    def running(self) -> list[ShellState]:
        return [shell.started for shell in self._shells.values() if shell.alive]

    def state(self, name: str) -> ShellState:
        return self._find(name).state()

    def read(self, name: str) -> tuple[str, int | None]:
        shell = self._find(name)
        return shell.new_text(), shell.exit_code

    def log(self, name: str) -> str:
        return self._find(name).log()

    async def write(self, name: str, text: str) -> None:
        shell = self._find(name)
        if not shell.alive:
            raise ToolFailed(f"shell {name} has ended (exit {shell.exit_code})")
        await shell.type(text)

    async def kill(self, name: str, why: str = "") -> int | None:
        shell = self._find(name)
        if shell.alive:
            shell.ended_because = why
        await shell.end()
        return shell.exit_code

    async def close(self) -> None:
        await asyncio.gather(*(shell.end(CLOSING_SECONDS) for shell in self._shells.values()))

    def _find(self, name: str) -> _Shell:
        shell = self._shells.get(name)
        if shell is None:
            known = ", ".join(self._shells) or "none yet; bash with run_in_background starts one"
            raise ToolFailed(f"there is no shell {name}. Shells: {known}")
        return shell


class _Shell:
    def __init__(
        self,
        started: ShellState,
        launch: Launch,
        output: Output,
        argv: Sequence[str],
        settle: Callable[[Launch], list[str]],
        redacted: Chunks | None,
    ) -> None:
        self.started = started
        self._redacted = redacted
        self.ended_because = ""
        self._is_shell = bool(re.fullmatch(_SHELL, argv[-1]))  # of bash -c LINE
        self._begun = ""
        self._untaken = False  # something was typed, and the terminal has not answered: the kernel may still hold it
        self._output = output
        self._fresh = bytearray()
        self._left_out = 0
        self._terminal, other = pty.openpty()
        try:
            os.set_inheritable(other, True)
            _set_size(other)
            self._other_side = os.ttyname(other)
            self._child = Child(launch, self, (self._terminal, other))
        except BaseException:
            os.close(self._terminal)
            raise
        finally:
            os.close(other)
        self._over = asyncio.ensure_future(self._see_to_its_end(launch, settle))

    async def _see_to_its_end(self, launch: Launch, settle: Callable[[Launch], list[str]]) -> None:
        """However it ends: release what it held, and move aside what it should not have made."""
        try:
            await self._child.ended.wait()
        finally:
            self._child.release()
            if self._redacted:
                self._keep(self._redacted.rest())
            self._output.close()
            os.close(self._terminal)
            try:
                notes = settle(launch)
            except OSError as error:
                notes = [f"a file in a protected path could not be moved out of the project: {error}"]
            for note in notes:
                self._keep(f"\n({note})\n".encode())

    def add(self, data: bytes) -> None:
        self._untaken = False
        self._keep(self._redacted.feed(data) if self._redacted else data)

    def _keep(self, data: bytes) -> None:
        self._output.add(data)
        self._fresh += data
        if (over := len(self._fresh) - KEPT_BYTES) > 0:
            del self._fresh[:over]
            self._left_out += over

    @property
    def alive(self) -> bool:
        return not self._child.ended.is_set()

    @property
    def exit_code(self) -> int | None:
        code = self._child.process.returncode
        return code if code is None or code >= 0 else 128 - code

    def state(self) -> ShellState:
        return structs.replace(self.started, folder=self._waits_in(), begun=self._begun)

    def _waits_in(self) -> str:
        """The folder in which a shell waits for a line at this terminal; empty if it does not, or if that is not known.

        It does if it leads the terminal's session, is in the foreground, runs nothing beside itself there, and has
        taken all that was typed: while a line is still being run, nobody knows where the next one will be.
        """
        if not (self._is_shell and self.alive) or self._untaken:
            return ""
        try:
            leader = os.tcgetpgrp(self._terminal)
            if os.getsid(leader) != leader or _program(leader) not in SHELLS:
                return ""
            if any(os.getpgid(pid) == leader for pid, started in descendants(leader) if started):
                return ""
            return os.readlink(f"/proc/{leader}/cwd") if self._reads_lines(leader) else ""
        except OSError:
            return ""

    def _reads_lines(self, shell: int) -> bool:
        if is_busy(shell):
            return False
        editing = not termios.tcgetattr(self._terminal)[3] & termios.ICANON
        if not editing and _program(shell) in LINE_EDITORS:
            return False
        unread = array.array("i", [0])
        other = os.open(self._other_side, os.O_RDONLY | os.O_NOCTTY)
        try:
            fcntl.ioctl(other, termios.FIONREAD, unread)
        finally:
            os.close(other)
        return not unread[0]

    def new_text(self) -> str:
        """What was printed since the last time, as plain lines."""
        note = (
            f"… {self._left_out} bytes omitted; the full output is in {self.started.whole} …\n"
            if self._left_out
            else ""
        )
        text = note + bytes(self._fresh).decode("utf-8", "replace").replace("\r\n", "\n")
        text += f"\nended by Quintet: {self.ended_because}\n" if self.ended_because else ""
        self._fresh.clear()
        self._left_out = 0
        return text

    def log(self) -> str:
        return self._output.text()

    async def type(self, text: str) -> None:
        """Write to the terminal without blocking the loop when the program does not read."""
        self._begun = re.split(_LINE_ENDS, self._begun + text)[-1]
        self._untaken = True
        data = text.encode("utf-8", "surrogateescape")
        for _ in range(100):
            try:
                data = data[os.write(self._terminal, data) :]
            except BlockingIOError:
                await asyncio.sleep(0.02)
            except OSError as error:
                raise ToolFailed(f"shell {self.started.name} cannot be written to: {error.strerror}") from error
            if not data:
                return
        raise ToolFailed(f"shell {self.started.name} does not read its input; {len(data)} bytes were not sent")

    async def end(self, grace: float = GRACE_SECONDS) -> None:
        if self.alive:  # a shell at its prompt does not heed an interrupt, and goes when its terminal does
            await self._child.end_tree(signal.SIGHUP if self._waits_in() else signal.SIGINT, grace)
        await asyncio.shield(self._over)


def _program(pid: int) -> str:
    return os.path.basename(os.readlink(f"/proc/{pid}/exe"))


def _set_size(terminal: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *ROWS_COLUMNS, 0, 0))


def _at_terminal(argv: Sequence[str]) -> tuple[str, ...]:
    """A shell with a terminal of its own, inside whatever sandbox is put around these words.

    The script is the installed one, as it is seen from inside; `SandboxSetup.under_confine` is for what starts outside.
    """
    return (sys.executable, "-I", "-S", CONFINE, NO_REPORT, TERMINAL, *argv)
