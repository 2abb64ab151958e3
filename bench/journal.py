"""What a durable event costs, next to a bare write and fdatasync of as many bytes on the same disk.

python bench/journal.py [--events 100000] [--folder DIR] [--json]. One event at a time, a hundred at once, at growing
lengths of the session, and the time to take a long session up. Reference and subject take turns.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import mean, median
from typing import Any

from _table import measured_in_a_folder, seconds_of, table, verdict

import quintet
from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.dials.axes import INTERACTIVE
from quintet.domain.journal.protocol import (
    Event,
    ModelReplied,
    ModelRequested,
    SessionOpened,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    encode,
)
from quintet.domain.journal.state import fold
from quintet.domain.ports.ports import Batch, Lease, SessionRow
from quintet.domain.turn.messages import ToolCall, Usage
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.session.feed import Feed
from quintet.engine.session.journal import Journal

SESSION = "q5-bench"
ONE_BY_ONE = 300
BATCHES = 40
BATCH = 100
RESUMES = 5
APPEND_TARGET, BATCH_TARGET, RESUME_TARGET = 2.5, 10.0, 0.5
GROWTH = 1.25  # how much slower the longest session may seem: the noise between runs of the same thing


def main() -> int:
    return measured_in_a_folder(__doc__, _measure, _text, events=(100_000, "length of the long session"))


# ── what is measured


class Bare:
    """A file that grows by one write and one fdatasync at a time."""

    def __init__(self, folder: str, size: int) -> None:
        self._file = os.open(os.path.join(folder, "bare"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._payload = b"x" * size

    async def write(self) -> None:
        os.write(self._file, self._payload)
        os.fdatasync(self._file)

    def close(self) -> None:
        os.close(self._file)


@asynccontextmanager
async def new_journal(folder: str) -> AsyncIterator[Journal]:
    """A new session's journal over a store of its own."""
    store, clock = SqliteStore(os.path.join(folder, "state.db")), SystemClock()
    opened = SessionOpened(session=SESSION, project=folder, axes=INTERACTIVE, program="bench")
    lease = Lease(SESSION, "bench", os.getpid(), "gone", clock.epoch() + 86_400, 1)
    now = clock.now()
    row = SessionRow(SESSION, now, now, "", 0, "", b"{}", "", 0, "", 0.0)
    await store.create(row, Batch(lease, [("session_opened", encode(opened))], now, b"{}"))
    try:
        yield Journal(store, clock, fold([opened]), lease, Feed())
    finally:
        await store.close()


def _turn(number: int) -> list[Event]:
    """Ten events of a usual turn: a question, two calls, an answer."""
    turn, axes = f"turn-{number:012d}", INTERACTIVE
    events: list[Event] = [
        TurnStarted(turn=turn, run=f"run-{number:012d}", submission="", text="replace the name and run it", axes=axes)
    ]
    for step in range(2):
        call = ToolCall(f"call-{number}-{step}", "bash", '{"command": "python -m unittest -q"}')
        events += [
            ModelRequested(
                step=f"s-{number}-{step}",
                turn=turn,
                run=f"run-{number:012d}",
                conversation=SESSION,
                user_mode="Agent",
                stage="act",
                model="builtin",
                tool_count=10,
                reasoning=False,
                axes=axes,
            ),
            ModelReplied(step=f"s-{number}-{step}", text="I will run it.", calls=(call,), usage=Usage(900, 40)),
            ToolStarted(call=call.id, turn=turn, tool="bash", arguments=call.arguments),
            ToolFinished(
                call=call.id, tool="bash", status=CallStatus.OK, content="Ran 12 tests in 0.3 s\n\nOK\nexit 0"
            ),
        ]
    return [*events, TurnFinished(turn=turn, status="done", answer="Done: 12 tests pass.", steps=2)]


def an_event(number: int) -> Event:
    return ToolFinished(
        call=f"call-{number:09d}", tool="bash", status=CallStatus.OK, content="a line of a tool's output\n" * 8
    )


async def _side_by_side(bare: Bare, journal: Journal, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of bare writes and of appends, one of each in turns."""
    writes, appends = [], []
    for number in range(rounds):
        writes.append(await seconds_of(bare.write))
        appends.append(await seconds_of(lambda number=number: journal.append(an_event(number))))  # type: ignore[misc]
    return writes, appends


async def _measure(folder: str, length: int) -> dict[str, Any]:
    size = len(encode(an_event(0)))
    figures: dict[str, Any] = {"event_bytes": size}
    bare = Bare(folder, size)
    try:
        async with new_journal(os.path.join(folder, "short")) as journal:
            await _side_by_side(bare, journal, 50)  # warm
            figures["one"] = _compared(*await _side_by_side(bare, journal, ONE_BY_ONE))
            figures["batches"] = await _batches(bare, journal)
        project = os.path.join(folder, "project")
        os.mkdir(project)
        os.environ |= {"XDG_STATE_HOME": os.path.join(folder, "state"), "XDG_CONFIG_HOME": folder}
        database = locate(project).database
        async with new_journal(os.path.dirname(database)) as journal:
            figures["growth"] = await _growth(bare, journal, length)
    finally:
        bare.close()
    figures["resume"] = await _resume(project, database)
    return figures


def _compared(writes: list[float], appends: list[float]) -> dict[str, float]:
    return {
        "bare_ms": round(median(writes) * 1000, 3),
        "append_ms": round(median(appends) * 1000, 3),
        "ratio": round(median(appends) / median(writes), 2),
    }


async def _batches(bare: Bare, journal: Journal) -> dict[str, float]:
    """Events a second: bare one by one, a hundred appends awaited together, one append of a hundred events."""
    events = [an_event(number) for number in range(BATCH)]
    writes, together, at_once = [], [], []
    for _ in range(BATCHES):
        writes += [await seconds_of(bare.write) for _ in range(10)]
        together.append(await seconds_of(lambda: asyncio.gather(*(journal.append(event) for event in events))))
        at_once.append(await seconds_of(lambda: journal.append(*events)))
    rate = 1 / mean(writes)
    return {
        "bare_per_second": round(rate),
        "together_per_second": round(BATCH / mean(together)),
        "together_ratio": round(BATCH / mean(together) / rate, 1),
        "at_once_per_second": round(BATCH / mean(at_once)),
        "at_once_ratio": round(BATCH / mean(at_once) / rate, 1),
    }


async def _growth(bare: Bare, journal: Journal, length: int) -> list[dict[str, float]]:
    """The cost of one append at 1 %, 10 % and all of the length."""
    rows = []
    written = 1
    for upto in (length // 100, length // 10, length):
        while written < upto - ONE_BY_ONE:
            chunk = [event for turn in range(50) for event in _turn(written + turn)][: upto - ONE_BY_ONE - written]
            await journal.append(*chunk)
            written += len(chunk)
        rows.append({"events": upto, **_compared(*await _side_by_side(bare, journal, ONE_BY_ONE))})
        written += ONE_BY_ONE
    return rows


async def _resume(project: str, database: str) -> dict[str, float]:
    """Seconds to read and fold the session by hand, and to take it up with `quintet.open`."""
    read, folded, opened = [], [], []
    events = 0
    for _ in range(RESUMES):
        store = SqliteStore(database)
        began = time.perf_counter()
        recorded = store.read(SESSION)
        done = time.perf_counter()
        fold(one.event for one in recorded)
        folded.append(time.perf_counter() - done)
        read.append(done - began)
        events = len(recorded)
        del recorded
        await store.close()
        began = time.perf_counter()
        async with quintet.open(project, resume=SESSION):
            opened.append(time.perf_counter() - began)
    return {
        "events": events,
        "read_s": round(median(read), 3),
        "fold_s": round(median(folded), 3),
        "resume_s": round(median(opened), 3),
    }


# ── what is shown


def _text(figures: dict[str, Any]) -> str:
    one, batches, growth, resume = figures["one"], figures["batches"], figures["growth"], figures["resume"]
    steady = growth[-1]["ratio"] <= growth[0]["ratio"] * GROWTH
    parts = [
        f"one event of {figures['event_bytes']} bytes, durable (median of {ONE_BY_ONE}, in turns)",
        table(
            ["", "ms", "ratio", "target", ""],
            [
                ["bare write + fdatasync", f"{one['bare_ms']:.3f}", "1.00", "", ""],
                [
                    "one append",
                    f"{one['append_ms']:.3f}",
                    f"{one['ratio']:.2f}",
                    f"≤ {APPEND_TARGET:g}",
                    verdict(one["ratio"] <= APPEND_TARGET),
                ],
            ],
        ),
        f"\nbatches of {BATCH} (mean of {BATCHES}, in turns)",
        table(
            ["", "events/s", "ratio", "target", ""],
            [
                ["bare, one by one", f"{batches['bare_per_second']}", "1.0", "", ""],
                [
                    f"one append of {BATCH} events",
                    f"{batches['at_once_per_second']}",
                    f"{batches['at_once_ratio']:.1f}",
                    f"≥ {BATCH_TARGET:g}",
                    verdict(batches["at_once_ratio"] >= BATCH_TARGET),
                ],
                [
                    f"{BATCH} appends awaited together",
                    f"{batches['together_per_second']}",
                    f"{batches['together_ratio']:.1f}",
                    "",
                    "",
                ],
            ],
        ),
        f"\none append, by the session's length (median of {ONE_BY_ONE}): {'does not grow' if steady else 'GROWS'}",
        table(
            ["events before", "bare ms", "append ms", "ratio"],
            [
                [f"{row['events']}", f"{row['bare_ms']:.3f}", f"{row['append_ms']:.3f}", f"{row['ratio']:.2f}"]
                for row in growth
            ],
        ),
        f"\ntaking up a session of {resume['events']} events (median of {RESUMES})",
        table(
            ["", "seconds", "target", ""],
            [
                ["read its events", f"{resume['read_s']:.3f}", "", ""],
                ["fold them", f"{resume['fold_s']:.3f}", "", ""],
                [
                    "quintet.open(resume=…)",
                    f"{resume['resume_s']:.3f}",
                    f"< {RESUME_TARGET:g}",
                    verdict(resume["resume_s"] < RESUME_TARGET),
                ],
            ],
        ),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
