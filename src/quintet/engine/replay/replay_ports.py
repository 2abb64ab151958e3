"""Ports that give back what a recording holds: the same engine runs on them and reaches nothing outside.

What the engine asks for is the next entry of its kind. What it waits for is let in when its entry is the first on the
tape and the engine is at rest, as it was when it was recorded: so calls that ran together, an interrupt in the middle
of a reply, a dial turned in a run come again between the same two steps.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from quintet.domain.journal import recording as tape
from quintet.domain.journal.protocol import Event, Recorded, Submitted, decode_event
from quintet.domain.journal.recording import RecordEntry, RequestDigest
from quintet.domain.permission.rules import Rule
from quintet.domain.ports.ports import Batch, Lease, Model, SessionRow, Unreadable
from quintet.domain.settings.hooks import HookEnd
from quintet.domain.turn.messages import Part, Request
from quintet.domain.turn.review_subject import Subject
from quintet.domain.turn.tool_spec import CallStatus, ToolResult, ToolSpec, Touch

T = TypeVar("T")
REPLY, INBOX = "reply", "inbox"


class Tape:
    def __init__(self, entries: Sequence[RecordEntry]) -> None:
        self._entries = entries
        self._taken = [False] * len(entries)
        self._first = 0  # that has not been taken
        self._left: dict[str, deque[int]] = {}
        for place, entry in enumerate(entries):
            self._left.setdefault(_kind(entry), deque()).append(place)
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

    def ask(self, kind: str, wanted: Any, otherwise: Any) -> Any:
        """The next value of a kind, wherever it stands; `otherwise` once there is none left."""
        entry = self.take(kind)
        return otherwise if entry is None else given(entry, wanted)

    def take(self, kind: str) -> RecordEntry | None:
        left = self._left.get(kind)
        if not left:
            self.ran_out = True
            return None
        return self._pass(left.popleft())

    async def wait(self, kind: str) -> RecordEntry:
        """The next entry of a kind, when it is let in."""
        left = self._left.get(kind)
        place = left.popleft() if left else -1 - len(self._waiting)  # the recording ended first: no place on the tape
        while not self.stopped:
            self._waiting[place] = door = asyncio.get_running_loop().create_future()
            try:
                await door
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
        entry, door = self._entries[self._first], self._waiting.get(self._first)
        if self._left.get(INBOX) and self._looking.done() and not self._woken:
            self._woken = True  # somebody may have been about to look when what comes next came
            self.wake()
        elif entry.kind == INBOX and not self._looking.done():
            self._looking.set_result(None)
        elif door and not door.done() and (not _is_cancelled(entry) or self._first in self._cancelled):
            door.set_result(None)

    def stop(self) -> None:
        self.stopped = True
        for door in (*self._waiting.values(), self._looking):
            if not door.done():
                door.set_result(None)

    def _pass(self, place: int) -> RecordEntry:
        self._taken[place] = True
        self.progress += 1
        while not self.finished and self._taken[self._first]:
            self._first += 1
        return self._entries[place]


def _is_cancelled(entry: RecordEntry) -> bool:
    return entry.fault is not None and entry.fault.kind == tape.CANCELLED


def _kind(entry: RecordEntry) -> str:
    """The parts of a reply stand in one row."""
    return REPLY if entry.kind.startswith("reply.") else entry.kind


def given(entry: RecordEntry, wanted: Any) -> Any:
    """What an entry gave: its value, or its error."""
    if entry.fault is None:
        return msgspec.convert(entry.value, wanted)
    if _is_cancelled(entry):
        raise asyncio.CancelledError
    raise tape.error_of(entry.fault)


class ReplayClock:
    def __init__(self, recorded: Tape) -> None:
        self._tape = recorded
        self._now = ""

    def now(self) -> str:
        self._now = self._tape.ask("now", str, self._now)
        return self._now

    def epoch(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        now: float = self._tape.ask("monotonic", float, 0.0)
        return now

    async def sleep(self, seconds: float) -> None:
        given(await self._tape.wait("sleep"), None)


class ReplayIds:
    def __init__(self, recorded: Tape) -> None:
        self._tape = recorded

    def new(self, kind: str) -> str:
        made: str = self._tape.ask(f"id.{kind}", str, f"{kind}-")
        return made


class ReplayStore:
    """Holds the events of the session; `heard` is told of each batch, and gives the numbers of its events."""

    def __init__(
        self, recorded: Tape, session: str, past: Iterable[Recorded], heard: Callable[[Batch], Sequence[int]]
    ) -> None:
        self._tape = recorded
        self._session = session
        self._events = list(past)
        self._heard = heard
        self._writes = 0

    async def create(self, row: SessionRow, batch: Batch) -> list[int]:
        made: list[int] = given(await self._tape.wait("create"), list[int])
        return made

    async def append(self, session: str, batch: Batch) -> list[int]:
        seqs = list(self._heard(batch))
        self._events += [
            Recorded(seq, batch.at, decode_event(data)) for seq, (_, data) in zip(seqs, batch.events, strict=True)
        ]
        return seqs

    def durable(self, write: Awaitable[T]) -> Awaitable[T]:
        self._writes += 1
        return self._awaited(f"durable.{self._writes}", write)

    async def _awaited(self, kind: str, write: Awaitable[T]) -> T:
        given(await self._tape.wait(kind), None)
        return await write

    async def submit(self, session: str, submitted: Submitted, at: str) -> None:
        """Submissions come from the tape."""

    async def take_lease(self, lease: Lease, now: float, steal: bool) -> bool:
        return True

    async def release(self, lease: Lease) -> None:
        self._tape.take("last")

    def inbox(self, session: str) -> list[Submitted | Unreadable]:
        entry = self._tape.inbox()
        if entry is None:
            return []
        pairs = msgspec.convert(entry.value, list[tuple[Submitted | None, Unreadable | None]])
        return [one for pair in pairs for one in pair if one is not None]

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]:
        if session != self._session:
            other: list[Recorded] = self._tape.ask("read_other", list[Recorded], [])
            return other
        last = self._tape.ask("read", int, 0)
        last = last if before is None else min(last, before)
        found = [recorded for recorded in self._events if after < recorded.seq <= last]
        return [r for r in found if not kinds or type(r.event).__struct_config__.tag in kinds]

    def read_everywhere(self, kinds: Sequence[str]) -> list[tuple[str, Event]]:
        found: list[tuple[str, Event]] = self._tape.ask("read_everywhere", list[tuple[str, Event]], [])
        return found

    def count(self, session: str) -> int:
        count: int = self._tape.ask("count", int, 0)
        return count

    def session(self, session: str) -> SessionRow | None:
        there = self._tape.ask("session", bool, False)
        return SessionRow(session, "", "", "", 0, "", b"{}", "", 0, "", 0.0) if there else None

    def last_seq(self, session: str) -> int:
        last: int = self._tape.ask("last_seq", int, 0)
        return last

    def last_of_type(self, session: str, kind: str) -> int:
        last: int = self._tape.ask("last_of_type", int, 0)
        return last

    def data_version(self) -> int:
        return 0

    async def close(self) -> None:
        """Nothing is held open."""


class ReplayModels:
    """Models that answer as they did; what they are asked is told to `heard` beside what they were asked then."""

    def __init__(self, recorded: Tape, heard: Callable[[RequestDigest | None, RequestDigest], None]) -> None:
        self._tape = recorded
        self._heard = heard
        self._made: dict[str, ReplayModel] = {}

    def get(self, name: str) -> Model:
        if name not in self._made:
            wire, staged = self._tape.ask(f"model.{name}", tuple[str, bool], (name, True))
            self._made[name] = ReplayModel(wire, staged, self._tape, self._heard)
        return self._made[name]


class ReplayModel:
    def __init__(
        self, name: str, staged: bool, recorded: Tape, heard: Callable[[RequestDigest | None, RequestDigest], None]
    ) -> None:
        self.name = name
        self.staged = staged
        self._tape = recorded
        self._heard = heard
        self._digests = tape.Digests()

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        self._heard(self._tape.ask("ask", RequestDigest, None), self._digests.asked(request))
        while True:
            entry = await self._tape.wait(REPLY)
            if entry.kind == "reply.over":
                given(entry, None)
                return
            yield tape.part_of(entry)

    async def close(self) -> None:
        """Nothing is held open."""


class ReplayRuleBook:
    def __init__(self, recorded: Tape) -> None:
        self._tape = recorded

    def rules(self) -> tuple[Rule, ...]:
        return ()

    def add(self, rule: Rule) -> None:
        self._tape.ask("rule_kept", None, None)


class ReplayRepository:
    def __init__(self, recorded: Tape) -> None:
        self._tape = recorded

    async def subject(self, wanted: str) -> Subject:
        found: Subject = given(await self._tape.wait("subject"), Subject)
        return found

    async def line_counts(self, paths: Iterable[str], revision: str) -> dict[str, int | None]:
        found: dict[str, int | None] = given(await self._tape.wait("lines"), dict[str, int | None])
        return found


class ReplayHooks:
    def __init__(self, recorded: Tape) -> None:
        self._tape = recorded

    async def run(self, command: str, told: bytes, cwd: str, timeout: float) -> HookEnd:
        end: HookEnd = given(await self._tape.wait("hook"), HookEnd)
        return end


def replay_tool(own: tape.OwnTool, recorded: Tape) -> ToolSpec:
    """A user's own tool without its code."""

    async def run(*_: Any, **__: Any) -> ToolResult:
        return ToolResult("a replay runs no tool", CallStatus.ERROR)

    effects = frozenset(own.effects)
    return ToolSpec(
        name=own.name,
        description=own.description,
        profile=own.profile,
        effects=effects,
        schema=lambda: own.parameters,
        bind=lambda arguments: recorded.ask("bind", dict[str, Any], {}),
        touch=lambda values: recorded.ask("touch", Touch, Touch(effects)),
        run=run,
        needs=own.needs,
        toolset=own.toolset,
        confined=own.confined,
    )
