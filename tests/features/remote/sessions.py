"""Sessions with remote, for tests: a paired account, a scripted model, a loopback server of a channel's."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.values import Account
from quintet.testing import ScriptedModel
from tests.engine.driving import Driver, drive
from tests.features.remote.bot_api import OWNER, BotApi

NORMAL = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
CHAT = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
ACTOR = f"remote:telegram/{OWNER}"
SECONDS = 60.0  # a limit, not a measure


def paired(channel: str = "telegram", account: str = str(OWNER), address: str = str(OWNER)) -> None:
    book = RemoteBook()
    book.pair(Account(channel, account, address, "me", "2026-01-01T00:00:00.000Z"))
    book.close()


async def seen(look: Callable[[], Any]) -> Any:
    """What a look finds, once it finds something."""
    async with asyncio.timeout(SECONDS):
        while not (found := look()):  # noqa: ASYNC110  a server in another thread has no event for it
            await asyncio.sleep(0.01)
    return found


def remotely(
    root: Path,
    api: BotApi,
    script: Callable[[Driver], Awaitable[None]],
    replies: list[Any],
    *,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> Driver:
    """A session with remote on from its start."""

    async def begun(driver: Driver) -> None:
        driver.seq = driver.session.since
        await seen(lambda: api.said("Remote is on"))
        await script(driver)

    wanted = {"remote.telegram_url": api.url, "remote.auto": True, **(settings or {})}
    options.setdefault("axes", NORMAL)
    return drive(root, begun, ScriptedModel(replies), person=True, settings=wanted, **options)


async def until_answered(driver: Driver) -> p.QuestionAnswered:
    return await driver.until_type(p.QuestionAnswered)
