"""What one task and one worker cost a shared database, and what that makes for many: the page for operators uses it.

python bench/fleet.py [--tasks 5] [--folder DIR] [--json]. One worker on a server of its own does --tasks tasks, then
waits. Counted are commits that write, rows, bytes and connections, which depend little on how busy the machine is.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from _database import Server, database_server
from _table import measured_in_a_folder, table
from dispatch import made_project, made_text, surround

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.domain.dials.axes import Axes, AxesChange, PermissionProfile
from quintet.domain.tasks.page import write_page
from quintet.features.workers.shop import Rights, Shop
from quintet.features.workers.worker import WorkerLoop, WorkerNews

IDLE_SECONDS = 20.0
WORKERS, REPOSITORIES, TASK_SECONDS = 10_000, 1_000, 300.0
# What was read is counted as transactions, too; a number is given only to those that write.
STATS = """SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, xact_commit,
  tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = 'bench'"""


async def _measure(folder: str, tasks: int) -> dict[str, Any]:
    with database_server(folder) as server:
        surround(folder, server.url("bench"))
        return await _worked(made_project(Path(folder, "project")), server, tasks)


async def _worked(root: Path, server: Server, tasks: int) -> dict[str, Any]:
    places = locate(str(root))
    shop = Shop(places, layers.load(places), "main")
    done, most, ready = 0, 0, asyncio.Event()

    def tell(news: WorkerNews) -> None:
        nonlocal done
        done += news.said.startswith("done")
        if done == tasks:
            ready.set()

    rights = Rights(AxesChange(permission_profile=PermissionProfile.NORMAL), {"routing.smart": "builtin"})
    loop = WorkerLoop(shop, rights, "fleet", tell, stays=True)
    working = asyncio.create_task(loop.run())
    await asyncio.sleep(3.0)
    waiting = await asyncio.to_thread(_connections, server)
    before = await asyncio.to_thread(_counted, server)
    await asyncio.sleep(IDLE_SECONDS)
    idle = await asyncio.to_thread(_counted, server)
    pages = [(f"b{number:03}", write_page(made_text(f"b{number:03}"))) for number in range(tasks)]
    await shop.keeper.add(pages, Axes())
    while not ready.is_set():
        most = max(most, await asyncio.to_thread(_connections, server))
        await asyncio.sleep(0.2)
    after = await asyncio.to_thread(_counted, server)
    loop.stopping.set()
    await working
    await shop.close()
    per_task = {name: (after[name] - idle[name]) / tasks for name in after}
    return {
        "idle_connections": waiting,
        "working_connections": most,
        "idle_commits_per_second": round((idle["commits"] - before["commits"]) / IDLE_SECONDS, 2),
        "idle_reads_per_second": round((idle["transactions"] - before["transactions"]) / IDLE_SECONDS, 2),
        "commits_per_task": round(per_task["commits"]),
        "rows_written_per_task": round(per_task["rows"]),
        "events_per_task": round(per_task["events"]),
        "bytes_per_task": round(per_task["bytes"]),
    }


def _counted(server: Server) -> dict[str, int]:
    (row,) = server.execute(STATS, "bench")
    (more,) = server.execute("SELECT count(*), pg_database_size('bench') FROM journal", "bench")
    names = ("commits", "transactions", "rows", "events", "bytes")
    return dict(zip(names, (int(str(one)) for one in (*row, *more)), strict=True))


def _connections(server: Server) -> int:
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench' AND pid <> pg_backend_pid()"
    return int(str(server.execute(sql, "bench")[0][0]))


def fleet(found: dict[str, Any]) -> dict[str, float]:
    """What many workers make of it, each at a task of TASK_SECONDS all the time."""
    rate = WORKERS / TASK_SECONDS
    return {
        "tasks_per_second": round(rate, 1),
        "connections": found["working_connections"] * WORKERS,
        "commits_per_second": round(rate * found["commits_per_task"]),
        "events_per_day": round(rate * found["events_per_task"] * 86_400),
        "gigabytes_per_day": round(rate * found["bytes_per_task"] * 86_400 / 1e9, 1),
        "commits_per_second_and_repository": round(rate * found["commits_per_task"] / REPOSITORIES, 2),
    }


def _text(figures: dict[str, Any]) -> str:
    rows = [(name.replace("_", " "), f"{value:,}") for name, value in figures.items()]
    more = [(name.replace("_", " "), f"{value:,}") for name, value in fleet(figures).items()]
    about = f"{WORKERS:,} workers over {REPOSITORIES:,} repositories, a task of {TASK_SECONDS:.0f} s each"
    return "\n".join([table(("one worker", ""), rows), "", table((about, ""), more)])


def main() -> int:
    return measured_in_a_folder(__doc__, _measure, _text, tasks=(5, "tasks"))


if __name__ == "__main__":
    sys.exit(main())
