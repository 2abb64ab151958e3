"""A process that runs a cycle of ten tasks and kills itself, as `kill -9` would, behind its n-th durable write.

python tests/faults/cycle_victim.py PROJECT [N]. The first makes the plan; a later one takes up the session and goes on.
One that comes to the end says how many writes it made. The offline rules plan and do the tasks: six side by side, four
one after the other.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from mortal import FOR_EVER, MortalStore, opened

from quintet.adapters.sqlite.rows import Rows
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.journal.protocol import CycleStopped, Recorded
from quintet.domain.ports.ports import Batch

TASKS = 10
AXES = Axes(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.NORMAL, ModelMode.SMART, Surface.RPC)
SETTINGS = {"checkpoints.enabled": False, "runs.record": False}


def wanted() -> str:
    made = [f'create the file out/{number}.txt with "{number}"' for number in range(1, TASKS + 1)]
    return "\n".join([*(f"- {line}" for line in made[:6]), "- " + " and then ".join(made[6:])])


class CountingRows(MortalStore):
    """Counts every durable write: the events of the journal, and the rows of tasks, claims and leases."""

    async def append(self, session: str, batch: Batch) -> list[int]:
        self.left += 1  # its write is counted, too
        return await super().append(session, batch)

    async def write(self, job: Callable[[Rows], Any]) -> Any:
        done = await super().write(job)
        self.count(1)
        return done


async def main(project: str, writes: int) -> None:
    session, store = await opened(project, writes, AXES, SETTINGS, kind=CountingRows)
    state = session.state
    if (
        state.cycle and not state.turns.waiting and not state.live_cycle
    ):  # killed when it was over: asked again, it would plan again
        await session.close()
        return
    if not state.turns.waiting:
        await session.say("/resume" if state.live_cycle else f"/plan\n{wanted()}")
    async for item in session.events(session.since):
        if isinstance(item, Recorded) and isinstance(item.event, CycleStopped):
            if item.event.status == "done":
                break
            if item.event.reason != "its process ended":
                raise SystemExit(f"{item.event.status}: {item.event.reason}")
    print(writes - store.left, flush=True)
    await session.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else FOR_EVER))
