"""A store that kills its process, as `kill -9` would, behind its n-th durable event; and a session upon it."""

from __future__ import annotations

import os
import signal
from typing import Any

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.adapters.sqlite.store import SqliteStore
from quintet.app import open as app
from quintet.domain.dials.axes import Axes, Surface
from quintet.domain.ports.ports import Batch
from quintet.engine.session.session import Session

FOR_EVER = 1 << 30


class MortalStore(SqliteStore):
    def __init__(self, path: str, left: int) -> None:
        super().__init__(path)
        self.left = left

    async def append(self, session: str, batch: Batch) -> list[int]:
        seqs = await super().append(session, batch)
        self.count(len(batch.events))
        return seqs

    def count(self, durable: int) -> None:
        self.left -= durable
        if self.left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def opened(
    project: str,
    left: int,
    axes: Axes,
    settings: dict[str, Any],
    *,
    agent: str = "",
    model: Any = None,
    kind: Any = None,
) -> tuple[Session, MortalStore]:
    """A new session the first time, and after that the same one, taken up."""
    places = locate(project)
    core = app.make_core(places, config.load(places, settings), model=model)
    await core.store.close()
    core.store = store = (kind or MortalStore)(places.database, left)
    if not store.sessions():
        return await app._begin(core, Surface.RPC, axes, [], agent, places), store
    return await app._take_up(core, store, Surface.RPC, app.LATEST, False, [], "", places), store
