"""What a durable event costs on PostgreSQL beside SQLite, on the same disk and in the same run.

python bench/databases.py [--events 300] [--folder DIR] [--json]. A server of its own on a Unix socket, with its usual
durability. One event at a time, a hundred at once; reading a session, and how long another process takes to notice.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from statistics import median
from typing import Any

from _database import database_server
from _table import measured_in_a_folder, seconds_of, table

from quintet.adapters.processes.system import SystemClock
from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.dials.axes import Surface
from quintet.domain.journal.protocol import Say, Submitted, ToolFinished, encode
from quintet.domain.ports.ports import Batch, Lease, SessionRow
from quintet.domain.ports.stores import ProjectStore
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.postgres.kind import KIND

BATCH = 100
BATCHES = 20
NOTICES = 30
AT = "2026-01-01T00:00:00.000Z"
LEASE = Lease("s", "bench", os.getpid(), "gone", SystemClock().uptime() + 86_400, 1)
EVENT = (
    "tool_finished",
    encode(ToolFinished(call="c", tool="bash", status=CallStatus.OK, content="a line of output\n" * 8)),
)


async def _measure(folder: str, events: int) -> dict[str, Any]:
    with database_server(folder) as server:

        def opened(kind: str) -> ProjectStore:
            if kind == "SQLite":
                return SqliteStore(os.path.join(folder, "state.db"))
            return KIND.open(server.url("bench"), "bench", SystemClock())

        stores = {kind: (opened(kind), opened(kind)) for kind in ("SQLite", "PostgreSQL")}
        figures = await _compared(stores, events)
        for pair in stores.values():
            for store in pair:
                await store.close()
        return figures


async def _compared(stores: dict[str, tuple[ProjectStore, ProjectStore]], events: int) -> dict[str, Any]:
    one: dict[str, list[float]] = {kind: [] for kind in stores}
    many: dict[str, list[float]] = {kind: [] for kind in stores}
    figures: dict[str, Any] = {}
    for store, _ in stores.values():
        await store.create(SessionRow("s", AT, AT, "", 0, "", b"{}", "", 0, "", 0.0), _batch(1))
    for number in range(events + 20):
        for kind, (store, _) in stores.items():
            taken = await seconds_of(lambda store=store: store.append("s", _batch(1)))  # type: ignore[misc]
            one[kind] += [taken] if number >= 20 else []
    for _ in range(BATCHES):
        for kind, (store, _) in stores.items():
            many[kind].append(await seconds_of(lambda store=store: store.append("s", _batch(BATCH))))  # type: ignore[misc]
    for kind, (store, other) in stores.items():
        began = time.perf_counter()
        count = len(store.read("s"))
        figures[kind] = {
            "append_ms": round(median(one[kind]) * 1000, 3),
            "batch_events_per_second": round(BATCH / median(many[kind])),
            "read_events_per_second": round(count / (time.perf_counter() - began)),
            "notice_ms": round(await _noticed(store, other) * 1000, 1),
        }
    return figures


async def _noticed(writer: ProjectStore, reader: ProjectStore) -> float:
    """From a submission of one process to the moment that another sees that something was written."""
    taken = []
    reader.data_version()
    await asyncio.sleep(0.5)
    for number in range(NOTICES):
        seen = reader.data_version()
        began = time.perf_counter()
        await writer.submit("s", Submitted(f"in-{number}", Say(text="x"), Surface.RPC), AT)
        while reader.data_version() == seen:  # noqa: ASYNC110
            await asyncio.sleep(0)
        taken.append(time.perf_counter() - began)
        await asyncio.sleep(0.05)
    return median(taken)


def _batch(count: int) -> Batch:
    return Batch(LEASE, [EVENT] * count, AT, b"{}")


def _text(figures: dict[str, Any]) -> str:
    rows = [
        [
            kind,
            f"{found['append_ms']:.3f}",
            f"{found['batch_events_per_second']}",
            f"{found['read_events_per_second']}",
            f"{found['notice_ms']:.1f}",
        ]
        for kind, found in figures.items()
    ]
    header = ["", "one append, ms", f"events/s by {BATCH}", "read, events/s", "noticed after, ms"]
    return table(header, rows)


def main() -> int:
    return measured_in_a_folder(__doc__, _measure, _text, events=(300, "appends of one event"))


if __name__ == "__main__":
    sys.exit(main())
