"""The two ways to crash the scripted session: cut the power behind any disk operation, or kill the process.

`record` runs the session once over `CutVfs`; `cut` then rebuilds the disk for any moment of it and recovers there.
`kill` runs it in a process of its own, kills that after a while, and recovers in place.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from crash_checks import Row, Witness, recover, witness_of
from crash_session import Person, ReportingStore, label_of, make_project, reporting_session
from cut_vfs import CutVfs, DiskLog, Mark

from quintet.adapters.files.paths import locate
from quintet.testing import CountingIds, FrozenClock

VICTIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "victim.py")
CHECKPOINT_PAGES = 60  # small, so that one session sees several checkpoints and WAL restarts
KILL_PATIENCE = 300.0  # seconds a victim may take to its own end


@dataclass
class Recording:
    """One whole run of the session, with every disk operation and every acknowledgement in one order."""

    log: DiskLog
    whole: list[Row]

    def witness(self, cut: int) -> Witness:
        witness = witness_of(entry.what for entry in self.log.entries[:cut] if isinstance(entry, Mark))
        witness.effects = Counter(label_of(call_id) for call_id in witness.began)
        return witness

    def cuts(self, count: int, dice: random.Random) -> list[int]:
        """Moments to cut at: half of them right behind an acknowledgement or a start, half anywhere."""
        marks = [at + 1 for at, entry in enumerate(self.log.entries) if isinstance(entry, Mark)]
        behind = _spread(marks, count // 2, dice)
        others = sorted(set(range(len(self.log.entries) + 1)) - set(behind))
        return sorted([*behind, *_spread(others, count - len(behind), dice)])

    def cut_behind(self, wanted: Callable[[dict[str, Any]], bool]) -> int:
        """The moment right behind the first report that `wanted` accepts."""
        return 1 + next(
            at for at, entry in enumerate(self.log.entries) if isinstance(entry, Mark) and wanted(entry.what)
        )


def _spread(choices: list[int], count: int, dice: random.Random) -> list[int]:
    """One by chance from each of `count` equal stretches; all of them if they are fewer."""
    count = min(count, len(choices))
    bounds = [part * len(choices) // count for part in range(count)] + [len(choices)]
    return [choices[dice.randrange(first, end)] for first, end in pairwise(bounds)]


def record(folder: str, prepare: Callable[[ReportingStore], None] = lambda store: None) -> Recording:
    """Run the scripted session to its end over a recording VFS. `prepare` may spoil the store first."""
    log = DiskLog()
    vfs = CutVfs(f"cut-{os.path.basename(folder)}-{id(log)}", log)
    try:
        asyncio.run(_recorded(make_project(os.path.join(folder, "whole")), log, vfs.name, prepare))
    finally:
        vfs.unregister()
    reports = (entry.what for entry in log.entries if isinstance(entry, Mark))
    return Recording(log, witness_of(reports).acknowledged)


async def _recorded(project: str, log: DiskLog, vfs: str, prepare: Callable[[ReportingStore], None]) -> None:
    store = ReportingStore(locate(project).database, log.mark, vfs)
    store._write.connection.wal_autocheckpoint(CHECKPOINT_PAGES)
    prepare(store)
    async with reporting_session(project, store, log.mark, FrozenClock(), CountingIds()) as session:
        person = Person(session)
        try:
            await person.run()
        finally:
            await person.leave()


def cut(recording: Recording, at: int, folder: str, dice: random.Random | None = None) -> list[str]:
    """Put the disk as it was behind entry `at` into a new folder and recover there; returns what is broken."""
    return recover_image(recording.log.image(at, dice), recording.witness(at), recording.whole, folder)


def recover_image(image: dict[str, bytes], witness: Witness, whole: list[Row], folder: str) -> list[str]:
    project = make_project(os.path.join(folder, "project"))
    places = locate(project)
    os.makedirs(places.state)
    for name, content in image.items():
        with open(os.path.join(places.state, name), "wb") as file:
            file.write(content)
    return recover(project, witness, os.path.join(folder, "copy"), whole)


@dataclass
class Killed:
    """How a victim fared: when it was killed, what it was doing, and what is broken."""

    seconds: float
    alive: bool  # it had not come to its own end
    in_call: bool  # a tool was running
    events: int  # acknowledged before
    broken: list[str]


def kill(folder: str, after: float | None, length: str = "") -> Killed:
    """Run the session in a process, kill it `after` seconds from its first sign of life, and recover."""
    project = make_project(os.path.join(folder, "project"))
    witness, seconds, alive = killed(project, after, length)
    broken = recover(project, witness, os.path.join(folder, "copy"))
    return Killed(seconds, alive, bool(witness.running()), len(witness.acknowledged), broken)


def killed(project: str, after: float | None, length: str = "") -> tuple[Witness, float, bool]:
    with subprocess.Popen([sys.executable, VICTIM, project, "", length], stdout=subprocess.PIPE) as victim:
        assert victim.stdout
        reports = bytearray(victim.stdout.readline())  # ready
        began = time.monotonic()
        deadline = began + (KILL_PATIENCE if after is None else after)
        pipe = victim.stdout.fileno()
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([pipe], [], [], left)[0]:
                continue
            data = os.read(pipe, 65536)
            if not data:
                break
            reports += data
        seconds = time.monotonic() - began
        victim.send_signal(signal.SIGKILL)
        reports += victim.stdout.read()
    lines = bytes(reports).split(b"\n")[:-1]  # a line cut in the middle was never said
    said = [json.loads(line) for line in lines]
    return witness_of(said), seconds, {"done": True} not in said
