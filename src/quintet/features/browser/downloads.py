"""Downloads, kept in the outputs folder under names of their own. Bounded, and told of when they are there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from quintet.adapters.files.private_files import private_folder

if TYPE_CHECKING:
    from playwright.async_api import Download

MOST_BYTES = 500_000_000  # of one, and of all that are under way
MOST_ALTOGETHER = 4  # times that, in a session: a page may begin a download after another
MOST_AT_ONCE = 5
LOOK_SECONDS = 0.25
BEGIN_SECONDS = 2.0
MOST_NAME = 60  # characters, which may be four bytes each


class Downloads:
    """`temporary` is where the browser puts what it has of a file so far."""

    def __init__(self, outputs: str, news: Callable[[str], None], most_bytes: int = MOST_BYTES) -> None:
        self._outputs = outputs
        self._news = news
        self._most = most_bytes
        self._tasks: set[asyncio.Task[None]] = set()
        self._too_big: set[Download] = set()
        self._kept = 0  # bytes
        self.begun = 0
        self._beginning = asyncio.Event()

    def take(self, download: Download, temporary: str) -> None:
        self.begun += 1
        self._beginning.set()
        problem = f"{MOST_AT_ONCE} are already running" if len(self._tasks) >= MOST_AT_ONCE else ""
        if self._kept > MOST_ALTOGETHER * self._most:
            problem = f"the downloads of this session already have {self._kept:,} bytes"
        if problem:
            self._news(f"a download of {download.suggested_filename} was refused: {problem}")
        work = _given_up(download) if problem else self._save(download, temporary)
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def one_more(self, than: int) -> None:
        """Wait, a short while, for a download that the browser has said it begins."""
        self._beginning.clear()
        if self.begun == than:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._beginning.wait(), BEGIN_SECONDS)

    @property
    def under_way(self) -> int:
        return len(self._tasks)

    async def settle(self, seconds: float) -> None:
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=1)

    async def _save(self, download: Download, temporary: str) -> None:
        name, path = download.suggested_filename, ""
        watch = asyncio.ensure_future(self._watch(download, temporary))
        try:
            problem = await download.failure()
            if download in self._too_big:
                self._news(f"the download of {name} was stopped: it has more than {self._most:,} bytes")
            elif problem:
                self._news(f"the download of {name} failed: {problem}")
            else:
                path = free_path(self._outputs, name)
                await download.save_as(path)
                await _quietly(download.delete())  # before it is told: the next one may begin then
                size = os.path.getsize(path)
                self._kept += size
                self._news(f"downloaded {name}, {size:,} bytes: {path}")
                path = ""
        except Exception as error:  # the browser is gone, or the disk is full
            self._news(f"the download of {name} failed: {str(error).partition(chr(10))[0]}")
        finally:
            watch.cancel()
            if path:
                os.unlink(path)  # what there is of it is not the file
            await _quietly(download.delete())  # the browser's own copy, which would count as under way

    async def _watch(self, download: Download, temporary: str) -> None:
        """Ends when a download is too big, which is then cancelled."""
        while True:
            if _bytes_in(temporary) > self._most:
                self._too_big.add(download)
                await _given_up(download)
                return
            await asyncio.sleep(LOOK_SECONDS)


async def _given_up(download: Download) -> None:
    await _quietly(download.cancel())


async def _quietly(work: Awaitable[None]) -> None:
    """What may fail because the browser is gone."""
    with contextlib.suppress(Exception):
        await work


def _bytes_in(folder: str) -> int:
    """What the browser has downloaded so far and keeps: its artifacts, not its caches."""
    total = 0
    with contextlib.suppress(OSError):
        for place in os.scandir(folder):
            if place.is_dir(follow_symlinks=False) and place.name.startswith("playwright-artifacts"):
                total += sum(file.stat(follow_symlinks=False).st_size for file in os.scandir(place.path))
    return total


def free_path(folder: str, name: str) -> str:
    """A path in a folder that nothing has yet, with this name as far as it is one."""
    private_folder(folder)
    plain = re.sub(r"[^\w.+-]+", "_", name.rpartition("/")[2])[-MOST_NAME:].lstrip(".") or "file"
    stem, ending = os.path.splitext(plain)
    number = 1
    while True:
        path = os.path.join(folder, f"{stem}-{number}{ending}" if number > 1 else plain)
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            return path
        except FileExistsError:
            number += 1
