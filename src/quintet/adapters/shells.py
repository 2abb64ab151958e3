"""Background shells: commands at a terminal of their own that go on while the agent does other things.

Each keeps the end of its output in memory and, when that is too little, the whole in a file. All end with the session.
"""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import Sequence

from quintet.adapters.output import Output
from quintet.adapters.processes import Child
from quintet.adapters.sandbox.ground import Containment, Launch, minded
from quintet.domain.errors import ToolFailed
from quintet.domain.grants import Grant
from quintet.domain.ports import ShellState

KEPT_BYTES = 1_000_000
MOST_SHELLS = 16
ROWS_COLUMNS = (40, 200)


class BackgroundShells:
    def __init__(self, containment: Containment, outputs: str) -> None:
        self._containment = containment
        self._outputs = outputs
        self._shells: dict[str, _Shell] = {}

    async def start(self, name: str, argv: Sequence[str], *, line: str, cwd: str, grant: Grant) -> str:
        """Start a shell under a name, or under the next number; returns the name."""
        name = name or self._next_name()
        known = self._shells.get(name)
        if known and known.alive:
            raise ToolFailed(f"shell {name} is still running: bash_output reads it, kill_shell ends it")
        if sum(shell.alive for shell in self._shells.values()) >= MOST_SHELLS:
            raise ToolFailed(f"{MOST_SHELLS} shells are running; end one with kill_shell")
        at_terminal = minded(argv, '{"terminal": true}')
        launch = await asyncio.to_thread(self._containment.launch, at_terminal, cwd, grant)
        whole = os.path.join(self._outputs, f"shell-{name}.txt")
        self._shells[name] = _Shell(ShellState(name, line, grant), launch, Output(KEPT_BYTES, whole=whole))
        return name

    def _next_name(self) -> str:
        return next(name for number in range(1, len(self._shells) + 2) if (name := str(number)) not in self._shells)

    def running(self) -> list[ShellState]:
        return [shell.state for shell in self._shells.values() if shell.alive]

    def state(self, name: str) -> ShellState:
        return self._find(name).state

    def read(self, name: str) -> tuple[str, int | None]:
        shell = self._find(name)
        return shell.new_text(), shell.exit_code

    async def write(self, name: str, text: str) -> None:
        shell = self._find(name)
        if not shell.alive:
            raise ToolFailed(f"shell {name} has ended (exit {shell.exit_code})")
        await shell.type(text.encode("utf-8", "surrogateescape"))

    async def kill(self, name: str) -> int | None:
        shell = self._find(name)
        await self._end(shell)
        return shell.exit_code

    async def close(self) -> None:
        await asyncio.gather(*(self._end(shell) for shell in self._shells.values()))

    async def _end(self, shell: _Shell) -> None:
        await shell.end()
        self._containment.settle(shell.launch)

    def _find(self, name: str) -> _Shell:
        shell = self._shells.get(name)
        if shell is None:
            known = ", ".join(self._shells) or "none yet; bash with run_in_background starts one"
            raise ToolFailed(f"there is no shell {name}. Shells: {known}")
        return shell


class _Shell:
    def __init__(self, state: ShellState, launch: Launch, output: Output) -> None:
        self.state = state
        self.launch = launch
        self._output = output
        self._fresh = bytearray()
        self._left_out = 0
        self._terminal, other = pty.openpty()
        try:
            os.set_inheritable(other, True)
            _set_size(other)
            self._child = Child(launch, self, other)  # type: ignore[arg-type]
        except BaseException:
            os.close(self._terminal)
            raise
        finally:
            os.close(other)
        self._child.read_from(self._terminal)
        self._released = False

    def add(self, data: bytes) -> None:
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

    def new_text(self) -> str:
        """What was printed since the last time, as plain lines."""
        note = f"… {self._left_out} bytes left out …\n" if self._left_out else ""
        text = note + bytes(self._fresh).decode("utf-8", "replace").replace("\r\n", "\n")
        self._fresh.clear()
        self._left_out = 0
        return text

    async def type(self, data: bytes) -> None:
        """Write to the terminal without blocking the loop when the program does not read."""
        for _ in range(100):
            try:
                data = data[os.write(self._terminal, data) :]
            except BlockingIOError:
                await asyncio.sleep(0.02)
            except OSError as error:
                raise ToolFailed(f"shell {self.state.name} cannot be written to: {error.strerror}") from error
            if not data:
                return
        raise ToolFailed(f"shell {self.state.name} does not read; {len(data)} bytes were not typed")

    async def end(self) -> None:
        if self._released:
            return
        self._released = True
        if self.alive:
            await self._child.end_tree()
        self._child.release()
        self._output.close()
        os.close(self._terminal)


def _set_size(terminal: int) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *ROWS_COLUMNS, 0, 0))
