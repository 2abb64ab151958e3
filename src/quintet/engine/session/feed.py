"""From the journal to its readers, in one process.

Delivery: every reader gets every event, in order, once it is durable. Signals are best effort: deltas of one step
coalesce, and a reader that falls behind loses signals first. A reader that falls `BUFFER` items behind is cut off from
the feed and catches up from the store; it misses no event and costs no memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from msgspec import structs

from quintet.domain.journal.protocol import Recorded, Signal, TextDelta, ThinkingDelta

BUFFER = 1000  # items a reader may lag behind
MOST_COALESCED = 64_000  # characters one coalesced delta may grow to


class Reader:
    def __init__(self, signals: bool) -> None:
        self.wants_signals = signals
        self.items: deque[Recorded | Signal] = deque()
        self.lagging = False  # dropped out of the feed; read the store, then `caught_up`
        self.closed = False
        self.wake = asyncio.Event()

    def offer_event(self, recorded: Recorded) -> None:
        if self.lagging:
            return
        if len(self.items) >= BUFFER:
            self.items = deque(item for item in self.items if isinstance(item, Recorded))
        if len(self.items) >= BUFFER:
            self.items.clear()
            self.lagging = True
        else:
            self.items.append(recorded)
        self.wake.set()

    def offer_signal(self, signal: Signal) -> None:
        if not self.wants_signals or self.lagging:
            return
        last = self.items[-1] if self.items else None
        if (
            isinstance(signal, TextDelta | ThinkingDelta)
            and type(last) is type(signal)
            and last.step == signal.step
            and len(last.text) < MOST_COALESCED
        ):
            self.items[-1] = structs.replace(last, text=last.text + signal.text)
        elif len(self.items) < BUFFER:
            self.items.append(signal)
        self.wake.set()


class Feed:
    def __init__(self) -> None:
        self._readers: set[Reader] = set()
        self._closed = False
        self._listeners: list[Callable[[Recorded], None]] = []

    def listen(self, listener: Callable[[Recorded], None]) -> None:
        """Tell `listener` of every event; it must not throw, and must not take long."""
        self._listeners.append(listener)

    def reader(self, signals: bool) -> Reader:
        reader = Reader(signals)
        reader.closed = self._closed
        self._readers.add(reader)
        return reader

    def leave(self, reader: Reader) -> None:
        self._readers.discard(reader)

    def publish(self, recorded: Sequence[Recorded]) -> None:
        for listener in self._listeners:
            for item in recorded:
                listener(item)
        for reader in self._readers:
            for item in recorded:
                reader.offer_event(item)

    def signal(self, signal: Signal) -> None:
        for reader in self._readers:
            reader.offer_signal(signal)

    def close(self) -> None:
        self._closed = True
        for reader in self._readers:
            reader.closed = True
            reader.wake.set()
