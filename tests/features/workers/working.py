"""Workers in this process, on a real repository and store, with the offline rules as their model."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.domain.dials.axes import AxesChange, PermissionProfile
from quintet.domain.workers.integration import IntegrateWay
from quintet.features.workers.shop import Rights, Shop
from quintet.features.workers.worker import WorkerLoop, WorkerNews
from tests.engine.task_places import added

NORMAL = Rights(AxesChange(permission_profile=PermissionProfile.NORMAL), {})


def git(root: Path, *words: str) -> str:
    named = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    return subprocess.run([*named, *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def page(id: str, body: str, *, needs: str = "", intent: str = "", check: str = "true") -> tuple[str, str]:
    head = f"---\nid: {id}\ntitle: Task {id}\ndepends_on: [{needs}]\nintent: [{intent}]\nverification: {check}\n---\n"
    return f"{id}.md", f"{head}{body}\n"


def writes(id: str, file: str, *, text: str = "", **more: str) -> tuple[str, str]:
    """A task that makes a file."""
    more = {"intent": file, "check": f"test -f {file}", **more}
    return page(id, f'create the file {file} with "{text or id}"', **more)


def add(root: Path, *pages: tuple[str, str]) -> None:
    added(root, *pages)


def work(
    root: Path,
    *,
    workers: int = 1,
    onto: str = "",
    way: IntegrateWay | None = None,
    seen: Callable[[WorkerNews], None] = lambda news: None,
) -> list[WorkerNews]:
    """Workers until nothing can start; what they told."""
    told: list[WorkerNews] = []

    def tell(news: WorkerNews) -> None:
        told.append(news)
        seen(news)

    async def one() -> str:
        places = locate(str(root))
        shop = Shop(places, layers.load(places), onto, way)
        try:
            shop.check()
            return await WorkerLoop(shop, NORMAL, "run", tell).run()
        finally:
            await shop.close()

    async def run() -> None:
        async with asyncio.timeout(300):
            await asyncio.gather(*(one() for _ in range(workers)))

    asyncio.run(run())
    return told


def said(told: list[WorkerNews], task: str) -> list[str]:
    return [news.said for news in told if news.task == task]
