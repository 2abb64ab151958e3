"""The store recorded and replayed: of what is in the journal anyway, only how far it was read is written down.

Submissions come from the recording; leases and the database's own version are no matter of a replay.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from quintet.domain.journal.protocol import Event, Recorded, Submitted, decode_event
from quintet.domain.ports.ports import Batch, Lease, SessionRow, Store, Unreadable
from quintet.engine.replay.player import Player, given
from quintet.engine.replay.ports import PortForm, RecordedPort, ReplayedPort
from quintet.engine.replay.recorder import Recorder

T = TypeVar("T")
STORE = PortForm(
    numbered=False, unrecorded={"submit": 0, "renew_lease": True, "holds": True, "data_version": 0, "waiting": ()}
)


class RecordedStore(RecordedPort):
    def __init__(self, store: Store, recorder: Recorder, session: str) -> None:
        super().__init__(store, STORE, recorder)
        self._session = session
        self._seen: set[str] = set()  # unreadable submissions; they stay in the inbox
        self._last = 0  # number of the newest event
        self._writes = 0

    def durable(self, write: Awaitable[T]) -> Awaitable[T]:
        """Writes go by their numbers: one that is no longer waited for ends before an earlier one."""
        self._writes += 1
        return self._written(f"durable.{self._writes}", write)

    async def _written(self, kind: str, write: Awaitable[T]) -> T:
        written = await self._recorder.awaited(kind, write, lambda _: None)
        self._recorder.flush()
        return written

    async def append(self, session: str, batch: Batch) -> list[int]:
        try:
            seqs: list[int] = await self._port.append(session, batch)
        except BaseException:
            self._recorder.close()  # what is not in the journal cannot be compared
            raise
        self._last = seqs[-1] if seqs else self._last
        return seqs

    async def renew_lease(self, lease: Lease) -> bool:
        kept: bool = await self._port.renew_lease(lease)
        if not kept:
            self._recorder.close()
        return kept

    async def release(self, lease: Lease) -> None:
        self._recorder.add("last", self._last)
        self._recorder.close()  # the next owner goes on with the same file
        await self._port.release(lease)

    def inbox(self, session: str) -> list[Submitted | Unreadable]:
        found: list[Submitted | Unreadable] = self._port.inbox(session)
        unread = {one.id for one in found if isinstance(one, Unreadable)}
        if len(found) > len(unread) or unread - self._seen:
            self._seen |= unread
            pairs = [[one, None] if isinstance(one, Submitted) else [None, one] for one in found]
            self._recorder.add("inbox", pairs)
        return found

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]:
        found: list[Recorded]
        if session != self._session:
            found = self._recorder.asked("read_other", lambda: self._port.read(session, after, before, kinds))
        else:
            found = self._port.read(session, after, before, kinds)
            self._recorder.add("read", found[-1].seq if found else 0)
        return found

    def session(self, session: str) -> SessionRow | None:
        row: SessionRow | None = self._port.session(session)
        self._recorder.add("session", row is not None)
        return row


class ReplayedStore(ReplayedPort):
    """Holds the events of the session; `on_batch` is given each batch, and gives the numbers of its events."""

    def __init__(
        self, player: Player, session: str, past: Iterable[Recorded], on_batch: Callable[[Batch], Sequence[int]]
    ) -> None:
        super().__init__(Store, STORE, player, {"Event": Event})
        self._session = session
        self._events = list(past)
        self._on_batch = on_batch
        self._writes = 0

    def durable(self, write: Awaitable[T]) -> Awaitable[T]:
        self._writes += 1
        return self._written(f"durable.{self._writes}", write)

    async def _written(self, kind: str, write: Awaitable[T]) -> T:
        given(await self._player.wait(kind), None)
        return await write

    async def append(self, session: str, batch: Batch) -> list[int]:
        seqs = list(self._on_batch(batch))
        self._events += [
            Recorded(seq, batch.at, decode_event(data)) for seq, (_, data) in zip(seqs, batch.events, strict=True)
        ]
        return seqs

    async def release(self, lease: Lease) -> None:
        self._player.take("last")

    def inbox(self, session: str) -> list[Submitted | Unreadable]:
        entry = self._player.inbox()
        if entry is None:
            return []
        pairs = msgspec.convert(entry.value, list[tuple[Submitted | None, Unreadable | None]])
        return [one for pair in pairs for one in pair if one is not None]

    def read(
        self, session: str, after: int = 0, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Recorded]:
        if session != self._session:
            other: list[Recorded] = self._player.ask("read_other", list[Recorded])
            return other
        last = self._player.ask("read", int)
        last = last if before is None else min(last, before)
        found = [recorded for recorded in self._events if after < recorded.seq <= last]
        return [r for r in found if not kinds or type(r.event).__struct_config__.tag in kinds]

    def session(self, session: str) -> SessionRow | None:
        there = self._player.ask("session", bool)
        return SessionRow(session, "", "", "", 0, "", b"{}", "", 0, "", 0.0) if there else None
