"""Gives back what a recording holds: the same engine runs on it and reaches nothing outside.

What the engine asks for is the next entry of its kind. What it waits for is let in when its entry is the first that is
left and the engine is at rest, as it was when it was recorded: so calls that ran together, an interrupt in the middle
of a reply, a dial turned in a run come again between the same two steps.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from quintet.domain.base.errors import ToolFailed
from quintet.domain.journal.recording import CANCELLED, RecordEntry, error_of

REPLY, INBOX = "reply", "inbox"
PAST = ("checkpoints.progress",)  # in recordings of earlier versions; nothing came of it
EMPTY: tuple[Any, ...] = (None, False, 0, "", [], {})


class Player:
    def __init__(self, entries: Sequence[RecordEntry]) -> None:
        self._entries = entries = [entry for entry in entries if entry.kind not in PAST]
        self._taken = [False] * len(entries)
        self._first = 0  # that has not been taken
        self._left: dict[str, deque[int]] = {}
        for place, entry in enumerate(entries):
            self._left.setdefault(_kind(entry), deque()).append(place)
        self._latest: dict[str, RecordEntry] = {}  # of each kind that was asked for
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._cancelled: set[int] = set()
        self._looking: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # into the inbox
        self._looking.set_result(None)
        self._woken = False
        self.wake: Callable[[], None] = lambda: None  # there is something in the inbox
        self.progress = 0
        self.ran_out = False  # the engine wants more than the recording has
        self.stopped = False  # nothing more is of interest: let everything end

    @property
    def finished(self) -> bool:
        return self._first == len(self._entries)

    @property
    def next_kind(self) -> str:
        return "" if self.finished else self._entries[self._first].kind

    def holds(self, kind: str) -> bool:
        """Whether there is another entry of a kind that is written down only where there is something to write."""
        return bool(self._left.get(kind))

    def ask(self, kind: str, wanted: Any) -> Any:
        """The next value of a kind, wherever it stands; once there is none left, the last again or an empty one."""
        entry = self.take(kind)
        if entry is not None:
            self._latest[kind] = entry
        elif kind in self._latest:
            entry = self._latest[kind]
        else:
            return _empty(kind, wanted)
        return given(entry, wanted)

    def take(self, kind: str) -> RecordEntry | None:
        left = self._left.get(kind)
        if not left:
            self.ran_out = True
            return None
        return self._pass(left.popleft())

    async def wait(self, kind: str) -> RecordEntry:
        """The next entry of a kind, when it is let in."""
        left = self._left.get(kind)
        place = left.popleft() if left else -1 - len(self._waiting)  # the recording ended first: it has no place there
        while not self.stopped:
            self._waiting[place] = waiter = asyncio.get_running_loop().create_future()
            try:
                await waiter
                break
            except asyncio.CancelledError:
                # What is cancelled ends when it did in the recording: a process takes its time to die.
                self._cancelled.add(place)
                if place < 0:
                    raise
        if self.stopped:
            raise asyncio.CancelledError
        entry = self._pass(place)
        if place in self._cancelled and not _is_cancelled(entry):
            current = asyncio.current_task()  # it was cancelled only after this: its next wait ends so
            assert current
            current.cancel()
        return entry

    async def inbox_next(self) -> None:
        """Returns when the inbox is to be looked into: when there is something in it, or never will be again."""
        self._woken = False
        if self._left.get(INBOX) and not self.stopped:
            self._looking = asyncio.get_running_loop().create_future()
            await self._looking

    def inbox(self) -> RecordEntry | None:
        return None if self.stopped or self.next_kind != INBOX else self.take(INBOX)

    def let_in(self) -> None:
        """The engine is at rest: let the first entry in, if anybody waits for it."""
        if self.finished:
            return
        entry, waiter = self._entries[self._first], self._waiting.get(self._first)
        if self._left.get(INBOX) and self._looking.done() and not self._woken:
            self._woken = True  # somebody may have been about to look when what comes next came
            self.wake()
        elif entry.kind == INBOX and not self._looking.done():
            self._looking.set_result(None)
        elif waiter and not waiter.done() and (not _is_cancelled(entry) or self._first in self._cancelled):
            waiter.set_result(None)

    def stop(self) -> None:
        self.stopped = True
        for waiter in (*self._waiting.values(), self._looking):
            if not waiter.done():
                waiter.set_result(None)

    def _pass(self, place: int) -> RecordEntry:
        self._taken[place] = True
        self.progress += 1
        while not self.finished and self._taken[self._first]:
            self._first += 1
        return self._entries[place]


def _is_cancelled(entry: RecordEntry) -> bool:
    return entry.fault is not None and entry.fault.kind == CANCELLED


def _kind(entry: RecordEntry) -> str:
    """The parts of a reply stand in one row."""
    return REPLY if entry.kind.startswith("reply.") else entry.kind


def given(entry: RecordEntry, wanted: Any) -> Any:
    """What an entry gave: its value, or its error."""
    if entry.fault is None:
        return msgspec.convert(entry.value, wanted)
    if _is_cancelled(entry):
        raise asyncio.CancelledError
    raise error_of(entry.fault)


def _empty(kind: str, wanted: Any) -> Any:
    """A value of a type that the recording has none of."""
    for value in EMPTY:
        try:
            return msgspec.convert(value, wanted)
        except msgspec.ValidationError:
            continue
    raise ToolFailed(f"the recording ends before {kind}")
