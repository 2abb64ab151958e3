"""Session: one user's attachment to the core. Every surface enters at `submit` and leaves at `follow` or `events`.

The attachment is the same whether this process owns the session or another one does: a submission goes to the durable
inbox, events come from the journal. The owner in this process, if there is one, is woken at once and also gives
signals; another process's owner notices within a tenth of a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType, structs

from quintet.domain.base.errors import OwnerGone, QuintetError, UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.dials.axes import PermissionProfile, Surface
from quintet.domain.dials.transitions import Actor
from quintet.domain.input.image_paths import image_paths
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.journal.input_outcome import InputOutcome, InputWatch
from quintet.domain.journal.protocol import (
    Recorded,
    Say,
    Signal,
    Submission,
    Submitted,
    TurnFinished,
    TurnStarted,
)
from quintet.domain.journal.state import SessionState, fold
from quintet.domain.ports.ports import Clock, ShellState, Store, Unreadable
from quintet.domain.settings.settings import Settings
from quintet.domain.turn import context
from quintet.domain.turn.messages import EndStatus
from quintet.engine.checkpoints import rewind_preview
from quintet.engine.commands.table import usages
from quintet.engine.session.core import Core
from quintet.engine.session.leases import owner_lives
from quintet.engine.session.owner import Owner

if TYPE_CHECKING:
    from quintet.domain.tasks.board import BoardEntry
    from quintet.engine.checkpoints.rewind_preview import PointChoice

WATCH_SECONDS = 0.05
ID = r"[\w.-]{1,64}"  # of a submission, as a client may choose it
OWNER_SECONDS = 0.5  # how often a quiet owner is looked for
CLOSED_FIRST = InputOutcome(EndStatus.INTERRUPTED, reason="the session closed first")


class FollowedInput:
    """The events of a session from an input on to that input's end; then `outcome` says what came of it."""

    def __init__(self, session: Session, submission: str, after: int, signals: bool) -> None:
        self._events = session.events(after, signals=signals, take_over=True)
        self._watch = InputWatch(submission)

    @property
    def outcome(self) -> InputOutcome:
        """To be read when the events are over; until then, and if the session closes first, it is interrupted."""
        return self._watch.outcome or CLOSED_FIRST

    async def __aiter__(self) -> AsyncIterator[Recorded | Signal]:
        async with contextlib.aclosing(self._events) as events:
            async for item in events:
                over = isinstance(item, Recorded) and self._watch.see(item.event)
                yield item
                if over:
                    return

    async def end(self) -> InputOutcome:
        """Follow it to its end; what came of it."""
        async for _ in self:
            pass
        return self.outcome


class Session:
    def __init__(
        self,
        core: Core,
        session: str,
        surface: Surface,
        owner: Owner | None,
        since: int = 0,
        take_over: Callable[[], Awaitable[Owner | None]] | None = None,
    ) -> None:
        self.id = session
        self.since = since  # the last event before this attachment
        self.surface = surface
        self._core = core
        self._owner = owner
        self._take_over = take_over  # makes this process the owner, once the one that is attached to is gone
        self._taking_over = asyncio.Lock()
        self._submitted: dict[str, int] = {}  # the last event before each submission from here

    @property
    def owned_here(self) -> bool:
        return self._owner is not None

    @property
    def state(self) -> SessionState:
        """The session's state as of now; a fold over the journal unless this process owns it."""
        if self._owner:
            return self._owner.state
        return fold([recorded.event for recorded in self._core.store.read(self.id)])

    def shells(self) -> list[ShellState]:
        """The background shells that run here; those of another process are its own."""
        return self._core.turn.toolbox.outside.shells() if self._owner else []

    def shell_log(self, name: str) -> str:
        """What one of them printed so far; of what is long, the beginning and the end."""
        return self._core.turn.toolbox.outside.shell_log(name) if self._owner else ""

    def board_rows(self) -> Sequence[BoardEntry]:
        """What features have under way here, for the board."""
        return self._core.commands.board_rows() if self._owner else ()

    def context_share(self, seen: SessionState) -> float:
        """How much of the model's window the next request would fill, as `/context` says it.

        Where another process owns the session: what the provider counted, and what was `seen` since.
        """
        if self._owner:
            return self._owner.context_share()
        settings, state = self._core.settings, seen
        name = settings.routing.model(state.axes.model_mode, state.dials.model)
        window = context.window_of(settings, name) or context.DEFAULT_WINDOW
        return context.percent_used(state.conversation.measured, state.conversation.messages, window) / 100

    @property
    def clock(self) -> Clock:
        return self._core.clock

    @property
    def settings(self) -> Settings:
        """The settings this session was opened with."""
        return self._core.settings

    @property
    def commands(self) -> tuple[CommandUsage, ...]:
        """Every slash command, as far as typing it goes."""
        features = self._core.commands.features
        return (*usages(features), *features.more())

    async def submit(
        self,
        body: Submission,
        *,
        typed: bool = False,
        by_hand: str = "",
        id: str = "",
        actor: str = Actor.USER,
        highest: PermissionProfile | UnsetType = UNSET,
    ) -> str:
        """Put a submission into the session's inbox; returns its id once it is durable.

        `typed`: the user typed it key by key at the terminal of this process, or confirmed it there. It is remembered
        in this process and nowhere else, so it counts only if the session runs here. `by_hand` is what of it a person
        typed, pasted or dropped here: a picture outside the project that it names is taken along. `id` is the
        submission's own: what was accepted with it before, also by another process, is this one, and is not run again.
        `actor` is who it comes from, and `highest` the profile that somebody elsewhere may turn to.
        """
        if id and not re.fullmatch(ID, id):
            raise UsageError(
                f"{visible(id)!r} is not a valid input id: use letters, digits, dots and dashes, at most 64"
            )
        most = self._core.settings.limits.input_bytes
        if isinstance(body, Say) and _length(body) * 4 > most and (size := _size(body)) > most:
            raise UsageError(
                f"the input is {size / 1e6:.1f} MB; the limit is {most / 1e6:g} MB (limits.input_bytes)",
                hint="Write it to a file of the project and name the file instead.",
            )
        if isinstance(body, Say):  # a terminal or an argument may hand us bytes that are no text
            body = structs.replace(body, text=_whole(body.text), quoted=_whole(body.quoted or "") or UNSET)
        body = self._core.redactor.clean(body)  # a secret that was pasted goes no further
        self._check()
        submitted = Submitted(id or self._core.ids.new("in"), body, self.surface, actor, highest)
        if paths := image_paths(by_hand):
            await asyncio.to_thread(self._core.turn.bring_images, submitted.id, paths)
        if typed and self._owner and isinstance(body, Say):
            self._owner.core.ownership.typed_lines.add(submitted.id, body.text)
        at = self._core.clock.now()
        self._submitted[submitted.id] = await self._core.store.submit(self.id, submitted, at)
        if self._owner:
            self._owner.wake()
        return submitted.id

    async def say(self, text: str, *, by_hand: str = "", id: str = "") -> str:
        return await self.submit(Say(text=text), by_hand=by_hand, id=id)

    async def points(self) -> list[PointChoice]:
        """The points this session can go back to, oldest first."""
        return await rewind_preview.points(self._core, self.id)

    async def rewind_preview(self, number: str) -> list[str]:
        """What going back to before a point would do, line by line."""
        return await rewind_preview.preview(self._core, self.state, number)

    def last_answer(self) -> str:
        return last_answer(self._core.store, self.id)

    def last_exchange(self) -> tuple[str, str]:
        """What the newest turn was begun with, and its answer; empty where there is none."""
        store = self._core.store
        begun = store.last_of_type(self.id, "turn_started")
        said, answer = "", ""
        for recorded in store.read(self.id, begun - 1, kinds=("turn_started", "turn_finished")) if begun else ():
            match recorded.event:
                case TurnStarted(text=said):
                    pass
                case TurnFinished(answer=answer):
                    pass
        return said, answer

    @property
    def newest_event(self) -> int:
        """The number of the newest event that is durable now; 0 if there is none."""
        return self._core.store.last_seq(self.id)

    def past_events(self, after: int, before: int) -> list[Recorded]:
        """The events numbered above `after` and up to `before` that are durable now."""
        return self._core.store.read(self.id, after, before)

    def follow(self, submission: str, *, after: int | None = None, signals: bool = False) -> FollowedInput:
        """The events from a submission on, or from those numbered above `after`, to the end of what was submitted.

        An answer to a question has no end of its own: what it answers has.
        """
        begin = self._submitted.get(submission, self.since) if after is None else after
        return FollowedInput(self, submission, begin, signals)

    async def events(
        self, after: int = 0, *, signals: bool = False, take_over: bool = False
    ) -> AsyncGenerator[Recorded | Signal]:
        """Every event numbered above `after`, then new ones as they become durable; see `feed` on slow readers.

        When the process that owns the session ends, it is an error, or with `take_over` this one goes on in its place.
        """
        while not self._owner:
            try:
                async for recorded in self._watch(after):
                    after = recorded.seq
                    yield recorded
            except OwnerGone:
                if not take_over or not self._take_over:
                    raise
                async with self._taking_over:
                    self._owner = self._owner or await self._take_over()
        async for item in self._local(self._owner, after, signals):
            yield item

    async def drained(self) -> None:
        """Wait until what others have submitted is done too, if it runs here; what needs a person is left."""
        owner = self._owner
        while owner and not owner.failed and not owner.needs_person:
            inbox = self._core.store.inbox(self.id)
            if not owner.at_work and all(isinstance(one, Unreadable) for one in inbox):
                return
            await asyncio.sleep(WATCH_SECONDS)

    async def _local(self, owner: Owner, after: int, signals: bool) -> AsyncIterator[Recorded | Signal]:
        reader = owner.feed.reader(signals)
        try:
            last = after
            reader.lagging = True  # begin from the store
            while True:
                if reader.lagging:
                    reader.lagging = False
                    for recorded in self._core.store.read(self.id, last):
                        last = recorded.seq
                        yield recorded
                while reader.items:
                    item = reader.items.popleft()
                    if isinstance(item, Recorded):
                        if item.seq <= last:
                            continue
                        last = item.seq
                    yield item
                if reader.lagging:
                    continue
                if reader.closed:
                    self._check()
                    return
                reader.wake.clear()
                await reader.wake.wait()
        finally:
            owner.feed.leave(reader)

    async def _watch(self, after: int) -> AsyncIterator[Recorded]:
        seen, last = -1, after
        store, clock = self._core.store, self._core.clock
        looked = clock.monotonic()
        while True:
            version = store.data_version()
            if version != seen:
                seen = version
                for recorded in store.read(self.id, last):
                    last = recorded.seq
                    yield recorded
            if clock.monotonic() - looked > OWNER_SECONDS:
                looked = clock.monotonic()
                row = store.session(self.id)
                if row is None or not owner_lives(row, clock.uptime(), self._core.ownership.process_identity):
                    raise OwnerGone()
            await asyncio.sleep(WATCH_SECONDS)

    def _check(self) -> None:
        if self._owner and self._owner.failed:
            raise self._owner.failed

    async def close(self) -> None:
        if self._owner:
            with contextlib.suppress(QuintetError):
                await self._owner.close()
        for close in self._core.ownership.closing:
            await close()
        await self._core.store.close()


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _length(said: Say) -> int:
    return len(said.text) + len(said.quoted or "")


def _size(said: Say) -> int:
    return len(said.text.encode()) + len((said.quoted or "").encode())


def last_answer(store: Store, session: str) -> str:
    """The newest answer of a session's; empty if there is none."""
    ended = (recorded.event for recorded in reversed(store.read(session, kinds=("turn_finished",))))
    return next((event.answer for event in ended if isinstance(event, TurnFinished) and event.answer), "")
