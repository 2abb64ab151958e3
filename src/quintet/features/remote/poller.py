"""Looks at a channel for texts, in one process of the user's at a time: the others take over when it ends.

What it brings is on disk before the next look begins. A channel that is down is tried again, later each time; nothing
is forgotten meanwhile, since the position stands.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager

from quintet.adapters.files.private_files import alone
from quintet.domain.ports.ports import Clock
from quintet.features.remote.book import Paired, RemoteBook, Verdict, folder
from quintet.features.remote.channel import Channel, ChannelDown, Listening
from quintet.features.remote.texts import RemoteRefusal
from quintet.features.remote.values import Account, Outgoing, Update

TAKE_OVER_SECONDS = 1.0  # how often the place of another process is looked at
QUICK_SECONDS = 0.5
SETTLE_TRIES, SETTLE_SECONDS = 10, 0.1
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0


class Backoff:
    """How long to wait before the next try."""

    def __init__(self) -> None:
        self._next = FIRST_WAIT

    def wait(self, told: float = 0.0) -> float:
        wait, self._next = self._next, min(self._next * 2, LONGEST_WAIT)
        return min(max(wait, told), 600.0)

    def reset(self) -> None:
        self._next = FIRST_WAIT


class Poller:
    """`woken` is called when something was filed; `problem` says why the channel cannot be looked at."""

    def __init__(
        self, channel: Channel, book: RemoteBook, clock: Clock, woken: Callable[[], None] = lambda: None
    ) -> None:
        self.channel = channel
        self.problem = ""
        self._book = book
        self._clock = clock
        self._woken = woken
        self._told = asyncio.Event()
        self._told.set()

    async def run(self) -> None:
        while True:
            with place(self.channel.name) as ours:
                if ours:
                    await self._look()
            await asyncio.sleep(TAKE_OVER_SECONDS)

    async def _look(self) -> None:
        backoff = Backoff()
        now = asyncio.get_running_loop().time
        while True:
            begun = now()
            try:
                brought = await self.once()
                self.problem = ""
                backoff.reset()
                if not brought and now() - begun < QUICK_SECONDS:  # a server that does not wait is not asked at once
                    await asyncio.sleep(QUICK_SECONDS)
            except ChannelDown as error:
                self.problem = error.message
                await self._clock.sleep(backoff.wait(error.retry_after))

    async def once(self) -> bool:
        """One look, and what comes of it; returns whether it brought something new."""
        name, book, clock = self.channel.name, self._book, self._clock
        waiting = book.waits(name, clock.epoch())
        listening = Listening(
            tuple(book.accounts(name)), (waiting.address,) if waiting and waiting.address else (), waiting is not None
        )
        batch = await self.channel.updates(book.since(name), listening)
        for _ in range(SETTLE_TRIES):  # a message is there before its id is noted: a quick reply waits for that
            if all(book.knows(name, update) for update in batch.updates):
                break
            await asyncio.sleep(SETTLE_SECONDS)
        self._told.clear()
        try:
            filed = book.file(name, batch, clock.epoch(), clock.now())
            if filed:
                self._woken()
            for update, verdict in filed:
                await self._say(update, verdict)
        finally:
            self._told.set()
        return bool(filed)

    async def told(self) -> None:
        """Until everybody who was heard has been told what came of it: what is filed is seen by others before that."""
        await self._told.wait()

    async def _say(self, update: Update, verdict: Verdict) -> None:
        """What the person is told at once; if it does not arrive, nothing is lost."""
        with contextlib.suppress(ChannelDown):
            if update.callback:
                await self.channel.heard(update)
            if isinstance(verdict, Paired):
                text = "Paired. Type /remote on in a session to get its questions here."
                await self.channel.send(verdict.account, Outgoing(text, f"paired-{update.id}", reply_to=update.message))
            elif isinstance(verdict, RemoteRefusal) and (account := self._account(update)):
                text = f"Not accepted: {verdict.why}"
                await self.channel.send(account, Outgoing(text, f"refused-{update.id}", reply_to=update.message))

    def _account(self, update: Update) -> Account | None:
        return self._book.account(self.channel.name, update.account)


def place(channel: str) -> AbstractContextManager[bool]:
    """Whether this process is the one that looks at the channel, as long as this lasts."""
    return alone(os.path.join(folder(), f"{channel}.lock"))
