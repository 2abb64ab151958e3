"""Many processes send inputs to one session while its owner is killed, stopped and continued: each is run once.

Every process here is a client of one input, and one of them owns the session at a time. A client that is killed is
started again with the same id of its input, as a script would do it. Clients are forked from a process that has its
modules: to start Python so many times takes most of the machine, and nothing of it is looked at here.

It has no end in time as long as inputs end: how fast that goes is the machine's. So trouble comes after so many of
them, not after so many seconds. If none ends for a while, that is a defect, and names those that wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

import apsw
from tests.surfaces.forked import forks

from quintet.adapters.files.paths import locate

DIALS = ("--mode", "build", "--autonomous", "--permission-profile", "trusted")
CODES = {0: "done", 130: "interrupted"}
MOST_BETWEEN = 4  # inputs that end between two troubles


@dataclass
class Outcome:
    codes: dict[str, int] = field(default_factory=dict)  # of each input, as its client said at last
    problems: list[str] = field(default_factory=list)
    kills: int = 0
    stops: int = 0
    statuses: Counter[str] = field(default_factory=Counter)


class Owners:
    def __init__(self, root: Path, inputs: int, senders: int, seed: int, stall: float) -> None:
        self._root = root
        self._env = dict(os.environ)
        self._left: SimpleQueue[str] = SimpleQueue()
        for number in range(inputs):
            self._left.put(f"i{number}")
        self._senders = senders
        self._chance = random.Random(seed)
        self._stall = stall  # seconds without the end of an input that are a defect
        self._latest = time.monotonic()  # when one ended
        self._running: dict[int, int] = {}  # handles of processes, by their ids
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.outcome = Outcome()
        self.session = ""

    def run(self) -> Outcome:
        first = self._program("-p", "! true", *DIALS, "--output-format", "json")
        self.session = json.loads(first.stdout)["session"]
        self._latest = time.monotonic()
        senders = [threading.Thread(target=self._send) for _ in range(self._senders)]
        trouble = threading.Thread(target=self._trouble)
        for thread in (*senders, trouble):
            thread.start()
        for thread in senders:
            thread.join()
        self._over.set()
        trouble.join()
        self._check()
        return self.outcome

    def _program(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        begun: list[int] = []

        def note(pid: int) -> None:
            with self._lock, contextlib.suppress(ProcessLookupError):
                self._running[pid] = os.pidfd_open(pid)
                begun.append(pid)

        try:
            return forks().run(arguments, cwd=self._root, env=self._env, data=b"", seconds=self._stall, begun=note)
        finally:
            with self._lock:
                for pid in begun:
                    os.close(self._running.pop(pid))

    def _send(self) -> None:
        while True:
            try:
                name = self._left.get_nowait()
            except Empty:
                return
            code = -signal.SIGKILL
            while code == -signal.SIGKILL and time.monotonic() - self._latest < self._stall:
                code = self._once(name)
            self._latest = max(self._latest, time.monotonic() if code in CODES else 0.0)
            self.outcome.codes[name] = code

    def _once(self, name: str) -> int:
        try:
            client = self._program("-p", f"! echo {name} >> ran", "--resume", self.session, "--input-id", name)
        except subprocess.TimeoutExpired:
            self.outcome.problems.append(f"{name}: its client did not end in {self._stall:.0f} s")
            return 1
        if client.returncode not in (*CODES, -signal.SIGKILL):
            self.outcome.problems.append(f"{name}: exit {client.returncode}: {client.stderr[-300:].decode()}")
        return client.returncode

    def _owner(self) -> int | None:
        """The handle of the process that owns the session, if it is one of ours."""
        store = apsw.Connection(locate(str(self._root)).database, flags=apsw.SQLITE_OPEN_READONLY)
        store.set_busy_timeout(10_000)
        pid = store.execute("SELECT owner_pid FROM sessions WHERE id = ?", (self.session,)).fetchall()[0][0]
        store.close()
        return self._running.get(int(str(pid)))

    def _trouble(self) -> None:
        due = 0
        while not self._over.wait(self._chance.uniform(0.0, 0.4)):
            ended = len(self.outcome.codes)
            if ended < due:
                continue
            kill = self._chance.random() < 0.5
            with self._lock:
                owner = self._owner()
                if owner is None or not _signalled(owner, signal.SIGKILL if kill else signal.SIGSTOP):
                    continue
                owner = os.dup(owner)
            due = ended + self._chance.randint(1, MOST_BETWEEN)
            if kill:
                self.outcome.kills += 1
            else:
                self.outcome.stops += 1
                self._over.wait(self._chance.uniform(0.1, 1.5))
                _signalled(owner, signal.SIGCONT)
            os.close(owner)

    def _check(self) -> None:
        """What clients said, what is on record and what was done are the same."""
        self._program("-p", "/status", "--resume", self.session)  # runs what was left
        shown = self._program("sessions", "show", self.session, "--events")
        events = [json.loads(line) for line in shown.stdout.splitlines()]
        turns = {event["turn"]: event["submission"] for event in events if event["type"] == "turn_started"}
        begun = Counter(turns.values())
        ended: dict[str, list[str]] = {}
        for event in events:
            if event["type"] == "turn_finished":
                ended.setdefault(turns[event["turn"]], []).append(event["status"])
        path = self._root / "ran"
        effects = Counter(path.read_text().split() if path.exists() else [])
        for name, code in self.outcome.codes.items():
            status = ended.get(name, [])
            self.outcome.statuses.update(status)
            if begun[name] != 1 or len(status) != 1:
                self.outcome.problems.append(f"{name}: begun {begun[name]} times, ended {status}")
            elif code in CODES and CODES[code] != status[0]:
                self.outcome.problems.append(f"{name}: its client says {CODES[code]}, the journal {status[0]}")
            if effects[name] > 1 or (status == ["done"] and effects[name] != 1):
                self.outcome.problems.append(f"{name}: {status}, and its effect is there {effects[name]} times")


def _signalled(process: int, number: signal.Signals) -> bool:
    try:
        signal.pidfd_send_signal(process, number)
    except ProcessLookupError:
        return False
    return True
