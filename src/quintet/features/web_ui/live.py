"""A session as pages see it: one story and one state for all of them, and frames that say what changed.

It tails the journal and owns nothing. The session is opened when somebody says something in it: attached to where
another process runs it, run here where none does. A frame is made once for all readers, and a reader is nothing but
the number of the frame it has: a slow one costs the others nothing, and one that is too far behind loads the page anew.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from secrets import token_hex
from typing import Any

import msgspec

from quintet.adapters import sandbox
from quintet.adapters.files.paths import Places
from quintet.adapters.settings import layers as config
from quintet.app.lookups import needed
from quintet.app.open import log_crash, open_session
from quintet.app.task_lookups import tasks_here
from quintet.domain.base.errors import OwnerGone, QuintetError
from quintet.domain.dials.axes import Surface
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line
from quintet.domain.journal.state import SessionState
from quintet.domain.ports.stores import StoredRows
from quintet.engine.session.session import Session
from quintet.features.web_ui.blocks import WebTranscript
from quintet.features.web_ui.parts import PageContext, parts, title
from quintet.features.web_ui.question_card import CardContext
from quintet.surfaces.transcript.transcript import begins_transcript

FRAME_SECONDS = 0.05
WATCH_SECONDS = 0.1
KEPT_FRAMES = 400
FIRST_EVENTS = 400  # of a long journal, that a page begins with
MOST_BLOCKS = 1_500
EVENTS_AT_ONCE = 200  # before other tasks get their turn
IDLE_SECONDS = 600.0  # after which a session that nobody looks at is let go


class LiveSession:
    def __init__(
        self,
        places: Places,
        id: str,
        rows: StoredRows | None = None,
        session: Session | None = None,
        stack: AsyncExitStack | None = None,
    ) -> None:
        self.places = places
        self.id = id
        self.epoch = token_hex(6)  # frames of another process are no continuation of these
        self.state = SessionState()
        self.begin = 0  # the first event of the story, where there is more before it
        self.last = 0
        self.frame = 0
        self.readers = 0
        self.left_at = 0.0  # when the last reader went
        self._rows = rows or needed(places)
        self._story = WebTranscript()
        self._frames: deque[tuple[int, bytes]] = deque(maxlen=KEPT_FRAMES)
        self._parts: dict[str, str] = {}
        self._title = ""
        self._woken = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._stack = stack or AsyncExitStack()
        self._session = session  # where it was opened here; `_stack` closes it
        self._opening = asyncio.Lock()
        self._around = PageContext(config.load(places).settings, "")
        self._tasks_changed = True
        self._page: dict[str, Any] = {}
        self._page_json = b""
        self._failed = ""  # why the parts could not be made

    # ── what pages get

    async def start(self) -> None:
        events = await asyncio.to_thread(self._rows.read, self.id)
        first = _first_shown(events)
        self._story = WebTranscript(continues=first > 0)
        self.begin = events[first].seq if first else 0
        card, taken = CardContext(), ""
        for number, recorded in enumerate(events):
            self.state.apply(recorded.event)
            card = card.after(recorded.event)
            taken = recorded.at if isinstance(recorded.event, p.CheckpointTaken) else taken
            if number >= first:
                self._story.apply(recorded)
            if number % EVENTS_AT_ONCE == 0:
                await asyncio.sleep(0)
        self.last = events[-1].seq if events else 0
        settings = config.load(self.places).settings
        self._around = PageContext(settings, str(sandbox.chosen(settings.sandbox.use)), card=card, checkpoint=taken)
        await self.look_at_tasks()
        self._parts = parts(self.state, self._around)
        self._title = title(self.state, self.places.name)
        self._story.operations()
        self._story.html()
        self._task = asyncio.create_task(self._follow())

    def page(self) -> dict[str, Any]:
        """Everything as of the newest frame; made once for all who ask for it then."""
        self._flush()
        if self._page.get("frame") != self.frame:
            self._page, self._page_json = self._whole(), b""
        return self._page

    def page_json(self) -> bytes:
        page = self.page()
        self._page_json = self._page_json or msgspec.json.encode(page)
        return self._page_json

    def _whole(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "frame": self.frame,
            "begin": self.begin,
            "transcript": self._story.html(),
            "parts": dict(self._parts),
            "title": self._title,
        }

    async def frames(self, after: int) -> AsyncIterator[bytes]:
        """Frames behind that number as they come; None of them is missing, or the page is told to begin anew."""
        self.readers += 1
        try:
            while True:
                oldest = self._frames[0][0] if self._frames else self.frame + 1
                if after > self.frame or (after < self.frame and after + 1 < oldest):
                    yield msgspec.json.encode({"reset": True})
                    return
                for number, frame in [one for one in self._frames if one[0] > after]:
                    after = number
                    yield frame
                if after < self.frame:
                    continue
                woken = self._woken
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), 15.0)
                if not woken.is_set():
                    yield b""
        finally:
            self.readers -= 1
            if not self.readers:
                self.left_at = asyncio.get_running_loop().time()

    def older(self, before: int) -> tuple[str, int]:
        """The blocks of events before that one, and the first event they are of; 0 at the beginning."""
        if before <= 1:
            return "", 0
        reach = FIRST_EVENTS
        while True:
            events = self._rows.read(self.id, max(before - 1 - reach, 0), before - 1)
            at = next((at for at, one in enumerate(events) if begins_transcript(one.event)), None)
            whole = before - 1 - reach <= 0
            if whole or at is not None:
                break
            reach *= 4
        events = events if whole else events[at or 0 :]
        story = WebTranscript(f"o{before}-", continues=not whole)
        for recorded in events:
            story.apply(recorded)
        return story.html(), 0 if whole or not events else events[0].seq

    # ── following

    async def _follow(self) -> None:
        """Until it is closed, whatever happens: a session that is let go is tailed, and one that is opened is read."""
        while True:
            session = self._session
            try:
                if session:
                    async for item in session.events(self.last, signals=True, take_over=True):
                        self._apply(item)
                    await self._let_go(session)  # its feed is over: it was closed
                else:
                    await self._tail()
            except OwnerGone:
                await self._let_go(session)
            except QuintetError as error:
                self._story.note(Line(str(error), "error"))
                self._soon()
                await self._let_go(session)
                await asyncio.sleep(1.0)
            except Exception as error:
                self._defect(error)
                await asyncio.sleep(1.0)

    def _defect(self, error: Exception) -> None:
        """One of ours: it is shown and kept, and pages go on with what comes after it."""
        log_crash(self.places, error)
        self._story.note(Line(f"{type(error).__name__}: {error}", "error"))
        self._soon()

    async def _tail(self) -> None:
        """The journal that another process writes, until the session is opened here."""
        seen = -1
        while self._session is None:
            version = self._rows.data_version()
            if version != seen:
                seen = version
                for number, recorded in enumerate(self._rows.read(self.id, self.last)):
                    self._apply(recorded)
                    if number % EVENTS_AT_ONCE == 0:
                        await asyncio.sleep(0)
            await asyncio.sleep(WATCH_SECONDS)

    def _apply(self, item: p.Recorded | p.Signal) -> None:
        if isinstance(item, p.Recorded):
            if item.seq <= self.last:
                return
            self.last = item.seq
            self.state.apply(item.event)
            card = self._around.card.after(item.event)
            if card is not self._around.card:
                self._around = msgspec.structs.replace(self._around, card=card)
            if isinstance(item.event, p.CheckpointTaken):
                self._around = msgspec.structs.replace(self._around, checkpoint=item.at)
            if isinstance(item.event, p.TaskMoved | p.PlanAccepted | p.PlanMade | p.TurnFinished):
                self._tasks_changed = True
        self._story.apply(item)
        self._soon()

    def _soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FRAME_SECONDS, self._flush)

    def _flush(self) -> None:
        """Make a frame of what changed since the last."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._tasks_changed:
            self._tasks_changed = False
            task = asyncio.ensure_future(self.look_at_tasks())
            task.add_done_callback(lambda _: self._soon())
        frame: dict[str, Any] = {}
        if operations := self._story.operations():
            frame["do"] = operations
        made = self._made_parts()
        if changed := {name: html for name, html in made.items() if html != self._parts.get(name)}:
            frame["parts"], self._parts = changed, made
        if (name := title(self.state, self.places.name)) != self._title:
            frame["title"] = self._title = name
        if not frame:
            return
        self.frame += 1
        frame["n"] = self.frame
        self._frames.append((self.frame, msgspec.json.encode(frame)))
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()
        self._trim()

    def _made_parts(self) -> dict[str, str]:
        """The page's parts; those of before if they cannot be made, which is said in the transcript."""
        try:
            return parts(self.state, self._around)
        except Exception as error:
            if str(error) != self._failed:  # once, not with every frame
                self._failed = str(error)
                self._defect(error)
            return self._parts

    def _trim(self) -> None:
        """Of a story that became long, drop the oldest turns; pages load them from the journal when they want them."""
        blocks = self._story.blocks
        if len(blocks) <= MOST_BLOCKS:
            return
        cut = next(
            (at for at, one in enumerate(blocks) if at > MOST_BLOCKS // 2 and one.mark != blocks[at - 1].mark), 0
        )
        if cut:
            self.begin = blocks[cut].mark
            self._story.forget(cut)

    async def look_at_tasks(self) -> None:
        self._tasks_changed = False
        found, _ = await asyncio.to_thread(tasks_here, self.places)
        self._around = msgspec.structs.replace(self._around, tasks=tuple(found.tasks))

    # ── saying something

    async def opened(self) -> Session:
        """The session itself: attached to where it runs, or run here."""
        async with self._opening:
            if self._session is None:
                opening = open_session(self.places.root, surface=Surface.WEB, person=True, resume=self.id)
                session = await self._stack.enter_async_context(opening)
                self._session = session
            return self._session

    async def submit(self, body: p.Submission, id: str = "", by_hand: str = "") -> str:
        session = await self.opened()
        try:
            return await session.submit(body, id=id, by_hand=by_hand)
        except OwnerGone:
            await self._let_go(session)
            return await (await self.opened()).submit(body, id=id, by_hand=by_hand)

    @property
    def at_rest(self) -> bool:
        return not (self.state.busy or self.state.questions or self.state.turns.waiting or self.state.calls.shells)

    def idle(self, now: float) -> bool:
        return not self.readers and self.at_rest and now - self.left_at > IDLE_SECONDS

    async def _let_go(self, session: Session | None) -> None:
        """Of that one only: whoever finds it gone may come after somebody who opened another in its place."""
        async with self._opening:
            if session is None or session is not self._session:
                return
            self._session = None
            stack, self._stack = self._stack, AsyncExitStack()
            with contextlib.suppress(QuintetError):
                await stack.aclose()

    async def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._let_go(self._session)
        self._rows.close()


def _first_shown(events: list[p.Recorded]) -> int:
    """Where a page begins: at a turn, with not much more than it needs."""
    if len(events) <= FIRST_EVENTS:
        return 0
    for at in range(len(events) - FIRST_EVENTS, -1, -1):
        if begins_transcript(events[at].event):
            return at
    return 0


class LiveSessions:
    """Those that are looked at, by project and id."""

    def __init__(self, close_after: Callable[[], float]) -> None:
        self._found: dict[tuple[str, str], LiveSession] = {}
        self._starting = asyncio.Lock()
        self._now = close_after

    async def get(self, places: Places, id: str) -> LiveSession:
        key = (places.root, id)
        async with self._starting:
            return self._found.get(key) or await self._start(LiveSession(places, id))

    async def begin(self, places: Places, agent: str = "") -> LiveSession:
        """A new session, which runs here."""
        stack = AsyncExitStack()
        async with self._starting:
            opening = open_session(places.root, surface=Surface.WEB, person=True, agent=agent)
            session = await stack.enter_async_context(opening)
            return await self._start(LiveSession(places, session.id, session=session, stack=stack))

    async def _start(self, live: LiveSession) -> LiveSession:
        await live.start()
        live.left_at = self._now()
        self._found[live.places.root, live.id] = live
        return live

    async def sweep(self) -> None:
        """Let go of those that nobody looks at and that do nothing."""
        for key, live in [one for one in self._found.items() if one[1].idle(self._now())]:
            del self._found[key]
            await live.close()

    async def close(self) -> None:
        for live in list(self._found.values()):
            await live.close()
        self._found.clear()
