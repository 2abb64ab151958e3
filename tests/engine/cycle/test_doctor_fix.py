"""What `doctor fix` does to tasks of dead processes is whole after each write, so a kill between two does no harm."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_rows import SqliteTasks
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.ports.tasks import Claim
from quintet.domain.tasks.task import TaskStatus
from quintet.engine.cycle.doctor import fix
from quintet.engine.cycle.doctor_checks import DoctorChecks
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.testing import FrozenClock
from tests.engine.task_places import added, keep, page


class Killed(Exception):
    pass


class NoLeases:
    def stale_leases(self) -> list[object]:
        return []


class MortalTasks(SqliteTasks):
    """Ends right behind a number of its writes."""

    left = 0

    async def _died(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed

    async def release_task(self, task: str, owner: str) -> None:
        await super().release_task(task, owner)
        await self._died()

    async def move_task(self, *words, **named):  # type: ignore[no-untyped-def]
        number = await super().move_task(*words, **named)
        await self._died()
        return number


def test_a_kill_behind_its_first_write_leaves_no_running_task_that_nobody_holds(repo: Path) -> None:
    added(repo, page("t1"))
    places = locate(str(repo))

    async def begun(keeper: TaskKeeper) -> None:
        await keeper.claim("t1", "gone/1")
        await keeper.move("t1", TaskStatus.RUNNING, "unit 1", owner="gone/1")

    keep(repo, begun)

    async def mended() -> None:
        store = SqliteStore(places.database)
        tasks = MortalTasks(store)
        keeper = TaskKeeper(tasks, TaskFolder(places.root, places.runs), FrozenClock(), lambda pid: "another")
        tasks.left = 1
        try:
            with pytest.raises(Killed):
                await fix(cast(DoctorChecks, NoLeases()), keeper, store)
        finally:
            await store.close()

    asyncio.run(mended())

    async def left(keeper: TaskKeeper) -> tuple[TaskStatus, dict[str, Claim]]:
        return keeper.find("t1").status, keeper.store.claims()

    status, claims = keep(repo, left)
    assert status is not TaskStatus.RUNNING or "t1" in claims
    assert (status, claims) == (TaskStatus.RETRYING, {})
