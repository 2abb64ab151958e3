"""A process that runs a cycle of ten tasks and kills itself, as `kill -9` would, behind its n-th durable write.

python tests/faults/cycle_victim.py PROJECT [N]. The first makes the plan; a later one takes up the session and goes on.
The offline rules plan and do the tasks: six side by side, four one after the other.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from quintet import app
from quintet.adapters import config
from quintet.adapters.places import locate
from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.sqlite.store import SqliteStore
from quintet.domain.axes import Axes, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.cycle_state import live
from quintet.domain.ports import Batch
from quintet.domain.protocol import CycleStopped, Recorded

TASKS = 10
AXES = Axes(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.NORMAL, ModelMode.SMART, Surface.RPC)
SETTINGS = {"checkpoints.enabled": False, "runs.record": False}


def wanted() -> str:
    made = [f'create the file out/{number}.txt with "{number}"' for number in range(1, TASKS + 1)]
    return "\n".join([*(f"- {line}" for line in made[:6]), "- " + " and then ".join(made[6:])])


class MortalStore(SqliteStore):
    """Counts what is durable: events of the journal, and rows of tasks."""

    def __init__(self, path: str, writes: int) -> None:
        super().__init__(path)
        self._left = writes

    async def append(self, session: str, batch: Batch) -> list[int]:
        seqs = await super().append(session, batch)
        self._count(len(batch.events))
        return seqs

    async def write(self, job: Callable[[Rows], Any]) -> Any:
        done = await super().write(job)
        self._count(1)
        return done

    def _count(self, writes: int) -> None:
        self._left -= writes
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def main(project: str, writes: int) -> None:
    places = locate(project)
    core = app.make_core(places, config.load(places, SETTINGS))
    await core.store.close()
    core.store = store = MortalStore(places.database, writes)
    if store.newest() is None:
        session = await app._begin(core, Surface.RPC, AXES, [], "", places)
    else:
        session = await app._take_up(core, store, Surface.RPC, app.LATEST, False, [], "", places)
    state = session.state
    if not state.waiting:
        await session.say("/resume" if live(state) else f"/plan\n{wanted()}")
    async for item in session.events(session.since):
        if isinstance(item, Recorded) and isinstance(item.event, CycleStopped):
            if item.event.status == "done":
                break
            if item.event.reason != "its process ended":
                raise SystemExit(f"{item.event.status}: {item.event.reason}")
    await session.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else 1 << 30))
