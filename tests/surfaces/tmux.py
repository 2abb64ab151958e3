"""A real terminal for tests: a tmux server of its own, whose windows are typed into and read."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 120.0  # a limit, not a measure
QUINTET = f"{shlex.quote(sys.executable)} -m quintet"
SANE = "0 1 0"  # no alternate screen, a cursor, no mouse reports


class Tmux:
    """One tmux server of its own, with a shell in each window."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._socket = folder / "tmux"
        self._root = root

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", "/dev/null", *words], capture_output=True, text=True
        )
        return done.stdout

    def open(self, name: str, columns: int = 100, rows: int = 24, **variables: str) -> None:
        told = [f"{key}={value}" for key, value in {**os.environ, "PS1": "shell> ", **variables}.items()]
        size = ("-x", str(columns), "-y", str(rows), "-c", str(self._root))
        # exec: not every user's shell does so of itself, and then the window's process is that shell.
        shell = ("env", "-i", *told, "TERM=tmux-256color", "bash", "--norc", "--noprofile")
        self._tmux("new-session", "-d", "-s", name, *size, f"exec {shlex.join(shell)}")
        self.sees(name, "shell>")

    def type(self, name: str, *keys: str) -> None:
        self._tmux("send-keys", "-t", name, *keys)

    def enter(self, name: str, line: str) -> None:
        """Type a line at the prompt, and send it once it is there to be read."""
        self.type(name, "-l", line)
        self.sees(name, f"› {line}")
        self.type(name, "Enter")

    def screen(self, name: str, *more: str) -> str:
        return self._tmux("capture-pane", "-p", "-t", name, *more)

    def sees(self, name: str, word: str) -> str:
        until = time.monotonic() + SECONDS
        while word not in (shown := self.screen(name)):
            assert time.monotonic() < until, f"waited for {word}\n{shown}"
            time.sleep(0.05)
        return shown

    def state(self, name: str) -> str:
        return self._tmux(
            "display-message", "-p", "-t", name, "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"
        ).strip()

    def children(self, name: str) -> list[int]:
        shell = self._tmux("display-message", "-p", "-t", name, "#{pane_pid}").strip()
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", shell], capture_output=True, text=True).stdout
        return [int(pid) for pid in found.split()]

    def is_sane(self, name: str) -> None:
        until = time.monotonic() + SECONDS
        while (state := self.state(name)) != SANE:
            assert time.monotonic() < until, state
            time.sleep(0.05)

    def given_back(self, name: str, word: str = "over") -> str:
        """What the terminal shows once the program has ended and the shell has it again."""
        shown = self.sees(name, word)
        self.is_sane(name)
        self.type(name, "stty -a | tr ' ' '\\n' | grep -xE '.?(icanon|isig|echo);?' | xargs", "Enter")
        self.sees(name, "\nisig icanon echo\n")
        return shown

    def close(self) -> None:
        self._tmux("kill-server")
