"""Tasks on real files and a real database, for tests."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.sqlite.store import SqliteStore
from quintet.adapters.sqlite.task_rows import SqliteTasks
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.dials.axes import Axes
from quintet.domain.ports.ports import Clock
from quintet.engine.cycle.task_keeper import TaskKeeper

T = TypeVar("T")
TIMED = re.compile(r"_\d{8}_\d{6}\.md$")


def page(id: str, *needs: str, title: str = "", body: str = "Do it.\n") -> tuple[str, str]:
    depends = f"depends_on: [{', '.join(needs)}]\n" if needs else ""
    return f"{id}.md", f"---\nid: {id}\ntitle: {title or f'Do {id}'}\n{depends}---\n{body}"


@asynccontextmanager
async def keeping(
    root: Path, clock: Clock | None = None, identity: Callable[[int], str] = process_identity
) -> AsyncIterator[TaskKeeper]:
    """A keeper as a process has it: one Quintet on the project."""
    places = locate(str(root))
    store = SqliteStore(places.database)
    try:
        folder = TaskFolder(places.root, places.runs)
        yield TaskKeeper(SqliteTasks(store), folder, clock or SystemClock(), identity)
    finally:
        await store.close()


def keep(root: Path, work: Callable[[TaskKeeper], Awaitable[T]], clock: Clock | None = None) -> T:
    async def run() -> T:
        async with keeping(root, clock) as keeper:
            return await work(keeper)

    return asyncio.run(run())


def added(root: Path, *pages: tuple[str, str]) -> None:
    async def work(keeper: TaskKeeper) -> None:
        await keeper.add(pages, Axes())

    keep(root, work)


def todo(root: Path) -> list[str]:
    """Every file below the todo folder."""
    base = root / ".quintet" / "todo"
    return sorted(str(path.relative_to(base)) for path in base.rglob("*") if path.is_file())


def untimed(names: list[str]) -> list[str]:
    """Names of files in the done folders without the time that each of them carries."""
    assert all(TIMED.search(name) for name in names if name.startswith("done/")), names
    return sorted(TIMED.sub(".md", name) for name in names)
