"""Many processes send inputs to one session while its owner is killed, stopped and continued: each is run once.

Every process here is a client of one input, and one of them owns the session at a time. A client that is killed is
started again with the same id of its input, as a script would do it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

import apsw

from quintet.adapters.files.paths import locate

PROGRAM = (sys.executable, "-m", "quintet")
DIALS = ("--mode", "build", "--autonomous", "--permission-profile", "trusted")
CODES = {0: "done", 130: "interrupted"}
USUAL_SECONDS = 1.0  # for one input


@dataclass
class Outcome:
    codes: dict[str, int] = field(default_factory=dict)  # of each input, as its client said at last
    problems: list[str] = field(default_factory=list)
    kills: int = 0
    stops: int = 0
    unsent: int = 0  # inputs for which there was no time
    statuses: Counter[str] = field(default_factory=Counter)


class Owners:
    def __init__(self, root: Path, inputs: int, senders: int, seed: int, seconds: float) -> None:
        self._root = root
        self._left: SimpleQueue[str] = SimpleQueue()
        for number in range(inputs):
            self._left.put(f"i{number}")
        self._senders = senders
        self._chance = random.Random(seed)
        self._end = time.monotonic() + seconds
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.outcome = Outcome()
        self.session = ""
        self._pace = 1.0

    def run(self) -> Outcome:
        began = time.monotonic()
        first = subprocess.run([*PROGRAM, "-p", "! true", *DIALS, "--output-format", "json"], **self._about())
        self.session = json.loads(first.stdout)["session"]
        self._pace = max(
            1.0, (time.monotonic() - began) / USUAL_SECONDS
        )  # on a busy machine nobody would come to an end
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

    def _about(self) -> dict[str, object]:
        return {"cwd": self._root, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def _send(self) -> None:
        while True:
            try:
                name = self._left.get_nowait()
            except Empty:
                return
            if time.monotonic() >= self._end:
                self.outcome.unsent += 1
                continue
            code = -signal.SIGKILL
            while code == -signal.SIGKILL and time.monotonic() < self._end:
                code = self._once(name)
            self.outcome.codes[name] = code

    def _once(self, name: str) -> int:
        line = f"! echo {name} >> ran"
        argv = [*PROGRAM, "-p", line, "--resume", self.session, "--input-id", name]
        with self._lock:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **self._about())  # type: ignore[call-overload]
            self._running[child.pid] = child
        try:
            _, err = child.communicate(timeout=max(1.0, self._end - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            self.outcome.problems.append(f"{name}: its client did not end in time")
            return 1
        finally:
            with self._lock:
                del self._running[child.pid]
        if child.returncode not in (0, 130, -signal.SIGKILL):
            self.outcome.problems.append(f"{name}: exit {child.returncode}: {err[-300:]}")
        return int(child.returncode)

    def _owner(self) -> subprocess.Popen[str] | None:
        store = apsw.Connection(locate(str(self._root)).database, flags=apsw.SQLITE_OPEN_READONLY)
        store.set_busy_timeout(10_000)
        pid = store.execute("SELECT owner_pid FROM sessions WHERE id = ?", (self.session,)).fetchall()[0][0]
        store.close()
        return self._running.get(int(str(pid)))

    def _trouble(self) -> None:
        while not self._over.wait(self._chance.uniform(0.2, 1.2) * self._pace):
            with self._lock:  # a process of ours that is there: it is not waited for before it is let go here
                owner = self._owner()
                if owner is None or owner.poll() is not None:
                    continue
                kill = self._chance.random() < 0.5
                os.kill(owner.pid, signal.SIGKILL if kill else signal.SIGSTOP)
            if kill:
                self.outcome.kills += 1
                continue
            self.outcome.stops += 1
            self._over.wait(self._chance.uniform(0.1, 1.5))
            with self._lock:
                if owner.poll() is None:
                    os.kill(owner.pid, signal.SIGCONT)

    def _check(self) -> None:
        """What clients said, what is on record and what was done are the same."""
        subprocess.run([*PROGRAM, "-p", "/status", "--resume", self.session], **self._about())  # runs what was left
        shown = subprocess.run([*PROGRAM, "sessions", "show", self.session, "--events"], **self._about())
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
