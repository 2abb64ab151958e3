"""From a task that can begin to the worker that has claimed it, beside a bare procrastinate job in the same run.

python bench/dispatch.py [--tasks 20] [--folder DIR] [--json]. A server of its own on a Unix socket, one worker that
waits; a task is added when it has nothing to do. Dispatch is from the commit of the task to its claim, the worktree and
the session apart; claim to start is from there to the unit's first line in the journal, with both. A bare job is from
the commit of its deferral to the first line of its function. Both in turns, with both workers waiting.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import procrastinate
from _database import Server, database_server
from _table import measured_in_a_folder, table, verdict

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.dials.axes import AxesChange, PermissionProfile
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.page import write_page
from quintet.domain.tasks.task import Intent, Task, TaskText
from quintet.features.workers.shop import Rights, Shop
from quintet.features.workers.worker import WorkerLoop, WorkerNews

MOST_RATIO, MOST_START = 3.0, 1.0
GIT = ("git", "-c", "user.name=Bench", "-c", "user.email=bench@example.org")
SECONDS = 600.0


async def _measure(folder: str, tasks: int) -> dict[str, Any]:
    with database_server(folder) as server:
        surround(folder, server.url("bench"))
        root = made_project(Path(folder, "project"))
        async with _bare(server.url("bench")) as bare_job:
            bare, claimed, started = await _in_turns(root, server, tasks, bare_job)
        load = median(load_now() for _ in range(5))
    ratio = median(claimed) / median(bare)
    p95 = quantiles(started, n=20)[-1] if len(started) > 1 else started[0]
    return {
        "tasks": tasks,
        "bare_ms": round(median(bare) * 1000, 1),
        "dispatch_ms": round(median(claimed) * 1000, 1),
        "ratio": round(ratio, 2),
        "ratio_met": ratio <= MOST_RATIO,
        "claim_to_start_p95_s": round(p95, 3),
        "start_met": p95 <= MOST_START,
        "load": round(load, 1),
    }


def surround(folder: str, url: str) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = os.path.join(folder, name.lower())
        os.mkdir(os.environ[name])
    os.environ |= {"QUINTET_DATABASE": url, "QUINTET_DATABASE_PROJECT": "bench"}


def made_project(root: Path) -> Path:
    root.mkdir()
    (root / "readme.txt").write_text("begin\n")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Begin")):
        subprocess.run([*GIT, *words], cwd=root, check=True)
    return root


def made_text(id: str) -> TaskText:
    intent, body = (Intent(f"{id}.txt"),), f'create the file {id}.txt with "{id}"'
    return TaskText(id, f"Make {id}", verification=f"test -f {id}.txt", intent=intent, body=body)


def load_now() -> float:
    """How much longer than its own work anything takes just now, because others work here as well."""
    began, own = time.perf_counter(), time.process_time()
    while time.process_time() - own < 0.2:
        pass
    return max(1.0, (time.perf_counter() - began) / 0.2)


@asynccontextmanager
async def _bare(url: str) -> AsyncIterator[Callable[[], Awaitable[float]]]:
    """Runs a bare job, and says how long it took until it was begun."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, min_size=1, max_size=2))
    begun: list[float] = []
    ended = asyncio.Event()

    @app.task(name="bare")
    async def bare() -> None:
        begun.append(time.perf_counter())
        ended.set()

    async def one() -> float:
        ended.clear()
        began = time.perf_counter()
        await app.configure_task("bare", queue="bare").defer_async()
        await ended.wait()
        return begun[-1] - began

    async with app.open_async():
        serving = asyncio.create_task(
            app.run_worker_async(queues=["bare"], install_signal_handlers=False, delete_jobs="always")
        )
        yield one
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def _in_turns(
    root: Path, server: Server, tasks: int, bare_job: Callable[[], Awaitable[float]]
) -> tuple[list[float], list[float], list[float]]:
    """A bare job, then a task, in seconds: the job, from the task's commit to its claim, and from there to the unit's
    first line."""
    places = locate(str(root))
    shop = Shop(places, layers.load(places), "main")
    begun: dict[str, tuple[float, float]] = {}
    idle = asyncio.Event()

    def tell(news: WorkerNews) -> None:
        if news.said.startswith("begins"):
            begun[news.task] = time.perf_counter(), time.time()
        elif news.said.startswith("done"):
            idle.set()

    rights = Rights(AxesChange(permission_profile=PermissionProfile.NORMAL), {"routing.smart": "builtin"})
    loop = WorkerLoop(shop, rights, "bench", tell, stays=True)
    working = asyncio.create_task(loop.run())
    await asyncio.sleep(2.0)
    added: dict[str, float] = {}
    bare: list[float] = []
    folder = TaskFolder(places.tasks_root, places.runs)
    for number in range(tasks):
        id = f"b{number:03}"
        text = made_text(id)
        bare.append(await bare_job())
        idle.clear()
        step = folder.stage(f"{id}.md", write_page(text))
        step.commit()
        task = Task(text, created=shop.clock.now(), path=step.path, stamp=step.stamp)
        added[id] = time.perf_counter()
        await shop.keeper.store.add_tasks([task], "bench")
        async with asyncio.timeout(SECONDS):
            await idle.wait()
        await asyncio.sleep(0.2)
    loop.stopping.set()
    await working
    await shop.close()
    told = server.execute("SELECT data::jsonb->>'task', data::jsonb->>'phase', at FROM journal", "bench")
    first = {
        str(task): datetime.fromisoformat(str(at)).timestamp()
        for task, phase, at in told
        if phase == CyclePhase.EXECUTING
    }
    return (
        bare,
        [begun[id][0] - added[id] for id in added],
        [first[id] - begun[id][1] for id in added if id in first],
    )


def _text(figures: dict[str, Any]) -> str:
    rows = [
        ("bare procrastinate job", f"{figures['bare_ms']:.1f} ms", ""),
        ("dispatch of a task", f"{figures['dispatch_ms']:.1f} ms", ""),
        ("ratio", f"{figures['ratio']:.2f}", f"most {MOST_RATIO:g}: {verdict(figures['ratio_met'])}"),
        (
            "claim to start, p95",
            f"{figures['claim_to_start_p95_s']:.2f} s",
            f"most {MOST_START:g}: {verdict(figures['start_met'])}",
        ),
    ]
    note = f"everything here took about {figures['load']:g} times as long as alone on the machine"
    return f"{table(('', 'median', ''), rows)}\n\n{note}"


def main() -> int:
    return measured_in_a_folder(__doc__, _measure, _text, tasks=(20, "tasks, and bare jobs"))


if __name__ == "__main__":
    sys.exit(main())
