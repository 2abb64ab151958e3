"""The terminal UI next to an empty Textual app: first usable prompt, key echo while a model streams, CPU at rest.

python bench/tui.py [--runs 7] [--seconds 8] [--json]. Each program runs at a terminal of its own. Usable means: a key
pressed is on screen. The stream is 2,000 tokens a second, with 5,000 rows in the buffer; echo is from the key being
written to the terminal until the screen shows it; in the empty app nothing streams. At rest nothing is pressed.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from statistics import median, quantiles

from _table import say, table, verdict

ROWS, COLUMNS = 40, 120
SECONDS = 60.0  # for anything to appear
START_RATIO, ECHO_MS, IDLE_PERCENT = 2.0, 50.0, 1.0
EMPTY = """
from textual.app import App
from textual.widgets import TextArea
class Empty(App):
    def compose(self):
        yield TextArea(placeholder="ready to type")
Empty().run()
"""
STREAMING = """
import asyncio, sys
from quintet.app.open import open_session
from quintet.domain.turn.messages import EndPart, Finish, TextPart, Usage
from quintet.domain.settings.settings import Settings
from quintet.surfaces.tui.context import TuiContext
from quintet.surfaces.tui.app import run

class Fast:
    name = "fast"
    asked = 0

    async def stream(self, request):
        self.asked += 1
        if self.asked == 1:
            yield TextPart("\\n".join(f"row {n} of what was said before, as long as a line" for n in range(5200)))
        else:
            loop, sent = asyncio.get_running_loop(), 0
            begun = loop.time()
            while loop.time() - begun < float(sys.argv[2]):
                due = int((loop.time() - begun) * 2000)
                for number in range(sent, due):
                    yield TextPart("word " if number % 12 else "**end** `of` a line\\n")
                sent = max(due, sent)
                await asyncio.sleep(0.004)
        yield EndPart(Finish.STOP, Usage(1, 1))

    async def close(self):
        pass

model = Fast()
open_ = lambda session: open_session(sys.argv[1], surface="tui", person=True, model=model)
sys.exit(asyncio.run(run(TuiContext("bench", "bwrap", Settings(), open_))))
"""


class Terminal:
    """A program at a terminal of its own, and what it has drawn."""

    def __init__(self, words: list[str], folder: str) -> None:
        self.begun = time.perf_counter()
        self._end, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "HOME": folder,
            "XDG_STATE_HOME": os.path.join(folder, "state"),
            "XDG_CONFIG_HOME": os.path.join(folder, "config"),
        }
        project = os.path.join(folder, "project")
        self.child = subprocess.Popen(
            words, cwd=project, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self._drawn = b""

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def sees(self, text: str) -> float:
        """Reads until the text has been drawn; returns when that was."""
        wanted, until = text.encode(), time.perf_counter() + SECONDS
        while wanted not in self._drawn:
            ready, _, _ = select.select([self._end], [], [], max(until - time.perf_counter(), 0))
            if not ready:
                raise SystemExit(f"{text!r} was not shown; the end of what was: {self._drawn[-2000:]!r}")
            self._drawn = self._drawn[-20_000:] + os.read(self._end, 65_536)
        self._drawn = self._drawn.partition(wanted)[2]
        return time.perf_counter()

    def drain(self, seconds: float) -> None:
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            if select.select([self._end], [], [], left)[0]:
                self._drawn = self._drawn[-20_000:] + os.read(self._end, 65_536)

    def cpu(self) -> float:
        """Seconds of CPU it has used so far."""
        with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self._end)


def first_prompt(words: list[str], mark: str, folder: str) -> tuple[float, float]:
    """Seconds until a pressed key is on screen, and the CPU used until then."""
    terminal = Terminal(words, folder)
    try:
        terminal.sees(mark)
        terminal.type("字")
        return terminal.sees("字") - terminal.begun, terminal.cpu()
    finally:
        terminal.close()


def echoes(folder: str, seconds: float) -> tuple[list[float], float]:
    """Milliseconds from key to screen while a model streams, and the percent of one core that takes."""
    project = os.path.join(folder, "project")
    terminal = Terminal([sys.executable, "-c", STREAMING, project, str(seconds + 4)], folder)
    try:
        terminal.sees("›")
        terminal.type("a\r")
        terminal.sees("row 5199")
        terminal.drain(1.0)
        terminal.type("b\r")
        terminal.sees("end")  # of the first line that streams
        terminal.drain(0.5)
        before, begun = terminal.cpu(), time.perf_counter()
        found = _keys(terminal, seconds)
        return found, (terminal.cpu() - before) / (time.perf_counter() - begun) * 100
    finally:
        terminal.close()


def empty_echoes(folder: str, seconds: float) -> list[float]:
    """The same in the empty app, in which nothing streams."""
    terminal = Terminal([sys.executable, "-c", EMPTY], folder)
    try:
        terminal.sees("ready to type")
        terminal.drain(0.5)
        return _keys(terminal, seconds)
    finally:
        terminal.close()


def _keys(terminal: Terminal, seconds: float) -> list[float]:
    """One key about every 50 ms, each waited for."""
    found: list[float] = []
    until = time.perf_counter() + seconds
    number = 0
    while time.perf_counter() < until:
        key = chr(0x4E00 + number % 2000)
        number += 1
        begun = time.perf_counter()
        terminal.type(key)
        found.append((terminal.sees(key) - begun) * 1000)
        if number % 20 == 0:  # a line that is not too long
            terminal.type("\x15")
        terminal.drain(0.05)
    return found


def idle(folder: str, seconds: float) -> float:
    """Percent of one core that the open screen takes while nothing happens."""
    terminal = Terminal([sys.executable, "-m", "quintet"], folder)
    try:
        terminal.sees("›")
        terminal.drain(3.0)
        before = terminal.cpu()
        terminal.drain(seconds)
        return (terminal.cpu() - before) / seconds * 100
    finally:
        terminal.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="starts of each program (7)")
    parser.add_argument("--seconds", type=float, default=8.0, metavar="S", help="of streaming, and of rest (8)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        project = os.path.join(folder, "project")
        os.mkdir(project)
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        starts: dict[str, list[tuple[float, float]]] = {"empty Textual app": [], "quintet": []}
        for run in range(max(wanted.runs, 1) + 1):  # the first one warms the caches
            for name, words, mark in (
                ("empty Textual app", [sys.executable, "-c", EMPTY], "ready to type"),
                ("quintet", [sys.executable, "-m", "quintet"], "›"),
            ):
                measured = first_prompt(words, mark, folder)
                if run:
                    starts[name].append(measured)
        plain = empty_echoes(folder, wanted.seconds / 2)
        echo, streaming = echoes(folder, wanted.seconds)
        rest = idle(folder, wanted.seconds)
    _show(starts, echo, plain, streaming, rest, wanted.json)
    return 0


def _show(
    starts: dict[str, list[tuple[float, float]]],
    echo: list[float],
    plain: list[float],
    streaming: float,
    rest: float,
    as_json: bool,
) -> None:
    wall = {name: median(w for w, _ in runs) * 1000 for name, runs in starts.items()}
    cpu = {name: median(c for _, c in runs) * 1000 for name, runs in starts.items()}
    ratio = wall["quintet"] / wall["empty Textual app"]
    p95, plain_p95 = (quantiles(ms, n=20)[-1] if len(ms) > 1 else ms[0] for ms in (echo, plain))
    figures = {
        "first_prompt_ms": {name: round(value, 1) for name, value in wall.items()},
        "first_prompt_cpu_ms": {name: round(value, 1) for name, value in cpu.items()},
        "first_prompt_ratio": round(ratio, 2),
        "echo_p95_ms": round(p95, 1),
        "echo_median_ms": round(median(echo), 1),
        "echo_keys": len(echo),
        "empty_echo_p95_ms": round(plain_p95, 1),
        "streaming_cpu_percent": round(streaming, 1),
        "idle_cpu_percent": round(rest, 2),
    }
    rows = [
        ["first usable prompt, ms", f"{wall['quintet']:.0f}", f"{wall['empty Textual app']:.0f}", "", ""],
        ["  its CPU, ms", f"{cpu['quintet']:.0f}", f"{cpu['empty Textual app']:.0f}", "", ""],
        ["  ratio", f"{ratio:.2f}", "1.00", f"≤ {START_RATIO:g}", verdict(ratio <= START_RATIO)],
        ["key echo, p95 ms", f"{p95:.1f}", f"{plain_p95:.1f}", f"< {ECHO_MS:g}", verdict(p95 < ECHO_MS)],
        ["  median, ms", f"{median(echo):.1f}", f"{median(plain):.1f}", "", ""],
        ["CPU while streaming, %", f"{streaming:.0f}", "", "", ""],
        ["CPU at rest, %", f"{rest:.2f}", "", f"< {IDLE_PERCENT:g}", verdict(rest < IDLE_PERCENT)],
    ]
    say(table(["", "quintet", "empty app", "target", ""], rows), figures, as_json)


if __name__ == "__main__":
    sys.exit(main())
