"""One session's journal as its owner writes it.

`append` returns when the events are durable; `post` does not wait, for events that no effect depends on (a later
`append` is durable only after them). The state moves when events are handed over; readers see them when they are
durable. After a failed write the journal is broken for good: its owner stops, and the store is the truth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from quintet.domain.base.errors import StoreError
from quintet.domain.base.redaction import Redaction, Redactor
from quintet.domain.journal.protocol import (
    Event,
    QuestionAnswered,
    QuestionAsked,
    Recorded,
    Signal,
    encode,
)
from quintet.domain.journal.session_summary import summarise
from quintet.domain.journal.state import SessionState
from quintet.domain.ports.ports import Batch, Clock, Lease, Store
from quintet.domain.tasks.turn_titles import TurnTitles
from quintet.engine.session.feed import Feed

TITLE_LENGTH = 80
MOST_EVENT = 16_000_000  # bytes


class Journal:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        state: SessionState,
        lease: Lease,
        feed: Feed,
        durable: Callable[[Awaitable[Any]], Awaitable[Any]] = lambda write: write,
        redactor: Redactor | None = None,
    ) -> None:
        self._redactor = redactor or Redaction()
        self._store = store
        self._durable = durable  # how a write is waited for
        self._clock = clock
        self._lease = lease
        self._titles = TurnTitles()
        self.state = state
        self.feed = feed
        self.on_event: Callable[[Event], None] = lambda event: None  # given every event that is handed over
        self.broken: BaseException | None = None
        self._newest: asyncio.Task[list[Recorded]] | None = None  # write
        # Signals that wait for the newest write to be durable, so that readers see things in order.
        self._held: list[Signal] | None = None

    def post(self, *events: Event, consumed: str = "") -> asyncio.Task[list[Recorded]]:
        if self.broken:
            raise self.broken
        cleaned = [self._clean(event) for event in events]
        events = tuple(event for event, _ in cleaned)
        for event in events:
            self.state.apply(event)
        batch = self._batch(events, [data for _, data in cleaned], consumed)
        held: list[Signal] = []
        self._held = held
        self._newest = task = asyncio.ensure_future(self._write(events, batch, held))
        task.add_done_callback(_noted)
        for event in events:
            self.on_event(event)
        return task

    def append(self, *events: Event, consumed: str = "") -> Awaitable[list[Recorded]]:
        """As `post`, to be awaited; a cancelled wait does not take the write back."""
        return self._durable(asyncio.shield(self.post(*events, consumed=consumed)))

    async def written(self) -> None:
        """Returns when nothing waits to be written any more; a write that failed has broken the journal."""
        while self._newest and not self._newest.done():
            await asyncio.wait({self._newest})

    def _clean(self, event: Event) -> tuple[Event, bytes]:
        """An event without secrets, and its JSON. What comes in is clean already; here nothing gets past."""
        data = encode(event)
        if self._redactor.in_json(data):
            event = self._redactor.clean(event)
            data = encode(event)
        if len(data) > MOST_EVENT:
            kind = type(event).__struct_config__.tag
            raise StoreError(f"{kind}: {len(data):,} bytes are too many for an event; {MOST_EVENT:,} can be recorded")
        return event, data

    def signal(self, signal: Signal) -> None:
        signal = self._redactor.clean(signal)
        if self._held is None:
            self.feed.signal(signal)
        else:
            self._held.append(signal)

    def _batch(self, events: Sequence[Event], encoded: Sequence[bytes], consumed: str) -> Batch:
        title = next(filter(None, [self._titles.of(event) for event in events]), "")
        return Batch(
            lease=self._lease,
            events=[(type(e).__struct_config__.tag, data) for e, data in zip(events, encoded, strict=True)],  # type: ignore[misc]
            at=self._clock.now(),
            summary=encode(summarise(self.state)),
            title=" ".join(title.split())[:TITLE_LENGTH],
            consumed=consumed,
            opens=[(e.question, encode(e).decode()) for e in events if isinstance(e, QuestionAsked)],
            closes=[(e.question, e.choice) for e in events if isinstance(e, QuestionAnswered)],
        )

    async def _write(self, events: Sequence[Event], batch: Batch, held: list[Signal]) -> list[Recorded]:
        try:
            seqs = await self._store.append(self.state.session, batch)
        except BaseException as error:
            self.broken = self.broken or error
            raise
        recorded = [Recorded(seq, batch.at, event) for seq, event in zip(seqs, events, strict=True)]
        self.feed.publish(recorded)
        for signal in held:
            self.feed.signal(signal)
        if self._held is held:
            self._held = None
        return recorded


def _noted(task: asyncio.Task[list[Recorded]]) -> None:
    """A failed write is kept in `broken`; asking for it here keeps the loop from reporting it a second time."""
    if not task.cancelled():
        task.exception()
