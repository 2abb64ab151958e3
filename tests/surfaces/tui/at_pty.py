"""A program at a real pseudo terminal, for tests: bytes as a terminal sends them, also through a slow line."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS = 120.0  # a limit, not a measure


class AtPty:
    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self.output = bytearray()
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        while True:
            try:
                read = os.read(self._master, 65536)
            except OSError:
                return
            if not read:
                return
            self.output += read

    def send(self, data: str | bytes) -> None:
        """At once, as a paste that is not marked or one key comes."""
        left = data.encode() if isinstance(data, str) else data
        while left:
            left = left[os.write(self._master, left) :]

    def types(self, text: Iterable[str], apart: float = 0.06) -> None:
        """Key by key, no faster than somebody types."""
        for char in text:
            self.send(char)
            time.sleep(apart)

    def sends_slowly(self, data: str, late: float = 0.2, rate: int = 20_000, piece: int = 1_000) -> None:
        """Through a line of so many bytes a second, which is late, in pieces of a packet's size."""
        time.sleep(late)
        raw = data.encode()
        for begin in range(0, len(raw), piece):
            self.send(raw[begin : begin + piece])
            time.sleep(piece / rate)

    def until(self, true: Callable[[], object], what: str = "") -> None:
        end = time.monotonic() + SECONDS
        while not true():
            assert time.monotonic() < end, f"waited for {what}"
            assert self.process.poll() is None or true(), f"it has ended, waiting for {what}"
            time.sleep(0.02)


@contextmanager
def at_pty(program: str, cwd: Path, *words: str, columns: int = 100, rows: int = 30) -> Iterator[AtPty]:
    """Python code as a program at a terminal of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    try:
        yield AtPty(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)


RECORDING = """
import asyncio, json, sys
from quintet.domain.journal import protocol as p
from quintet.surfaces.tui import app
from quintet.app.terminal_ui import surroundings

class Recording(app.TerminalUi):
    async def enter(self, text, *rest):
        with open(sys.argv[1], "a") as file:
            file.write(json.dumps(text) + "\\n")
        if text.startswith("!"):
            await self.submit(p.Say(text=text), typed=True)  # however fast its keys came
        elif sys.argv[3] == "all" or text.startswith("/"):
            await super().enter(text, *rest)

    def receive(self, item, **named):
        super().receive(item, **named)
        with open(sys.argv[2], "a") as file:
            event = getattr(item, "event", item)
            file.write(json.dumps([type(event).__name__, getattr(event, "text", ""), self.state.session]) + "\\n")

app.TerminalUi = Recording
asyncio.run(app.run(surroundings(".", {"resume": sys.argv[4]})))
"""


class Screen:
    def __init__(self, terminal: AtPty, sent: Path, events: Path) -> None:
        self.terminal = terminal
        self._sent = sent
        self._events = events

    @property
    def sent(self) -> list[str]:
        return [json.loads(line) for line in self._sent.read_text().splitlines()] if self._sent.exists() else []

    def sends(self) -> str:
        """Press Enter until what is in the prompt is sent: one that comes close behind a paste belongs to it."""
        before = len(self.sent)

        def pressed() -> bool:
            self.terminal.types("\r", apart=0.3)
            return len(self.sent) > before

        self.terminal.until(pressed, "what is sent")
        return self.sent[-1]

    def ready(self) -> None:
        self.terminal.until(lambda: b"? keys" in self.terminal.output, "the screen")
        self.terminal.until(lambda: self.events("SessionOpened"), "the session")

    def events(self, kind: str) -> list[tuple[str, str]]:
        """Of one kind: their texts, and the session's id."""
        lines = self._events.read_text().splitlines() if self._events.exists() else []
        return [(text, session) for name, text, session in map(json.loads, lines) if name == kind]


@contextmanager
def screen(repo: Path, tmp_path: Path, *, all_run: bool = False, resume: str = "") -> Iterator[Screen]:
    """The real screen in a project. What is sent is recorded; shell lines and commands run, or `all_run` does."""
    sent, events = tmp_path / f"sent{resume}", tmp_path / f"events{resume}"
    with at_pty(RECORDING, repo, str(sent), str(events), "all" if all_run else "", resume) as terminal:
        yield Screen(terminal, sent, events)
