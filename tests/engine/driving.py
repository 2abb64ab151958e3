"""Drives a session as a surface would, for tests: submit, follow, collect."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from quintet.app.open import open_session
from quintet.domain.dials.axes import Axes, AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.engine.session.session import Session
from quintet.testing import CountingIds, FrozenClock, ScriptedModel

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
SECONDS = 120.0  # a limit, not a measure
E = TypeVar("E", bound=p.Event)


class Driver:
    """A session with everything it said so far."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.seen: list[p.Event] = []
        self.seq = 0

    @property
    def axes(self) -> Axes:
        return self.session.state.axes

    async def until(self, wanted: Callable[[p.Event], bool]) -> p.Event:
        """Follow the journal until an event that fits; everything on the way is in `seen`."""
        async with asyncio.timeout(SECONDS):
            async for item in self.session.events(self.seq):
                event = self._saw(item)
                if event is not None and wanted(event):
                    return event
        raise AssertionError("the session ended first")

    def _saw(self, item: p.Recorded | p.Signal) -> p.Event | None:
        if not isinstance(item, p.Recorded):
            return None
        self.seq = item.seq
        self.seen.append(item.event)
        return item.event

    async def until_type(self, kind: type[E]) -> E:
        event = await self.until(lambda e: isinstance(e, kind))
        assert isinstance(event, kind)
        return event

    async def until_status(self, status: str) -> None:
        async with asyncio.timeout(SECONDS):
            while self.session.state.status != status:  # noqa: ASYNC110  no event tells of it
                await asyncio.sleep(0.01)

    async def command(self, line: str) -> p.CommandRan:
        submission = await self.session.say(line)
        event = await self.until(lambda e: isinstance(e, p.CommandRan) and e.submission == submission)
        assert isinstance(event, p.CommandRan)
        return event

    async def turn(self, text: str) -> p.TurnFinished:
        finished = await self.ended(await self.session.say(text))
        assert isinstance(finished, p.TurnFinished), finished
        return finished

    async def ended(self, submission: str) -> p.Event | None:
        """Follow an input to the event that ends it; everything on the way is in `seen`."""
        followed = self.session.follow(submission, after=self.seq)
        async with asyncio.timeout(SECONDS):
            async for item in followed:
                self._saw(item)
        return followed.outcome.event

    async def answer(self, choice: str, note: str = "") -> None:
        asked = await self.until_type(p.QuestionAsked)
        await self.session.submit(p.Answer(question=asked.question, choice=choice, note=note))

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.seen if isinstance(event, kind)]

    def types(self) -> list[str]:
        return [type(event).__name__ for event in self.seen]


def drive(
    root: Path,
    script: Callable[[Driver], Awaitable[None]],
    model: Any = None,
    *,
    deterministic: bool = False,
    **options: Any,
) -> Driver:
    """Open a session with a scripted model, run `script` over it, close it."""

    async def run() -> Driver:
        if deterministic:
            options.setdefault("clock", FrozenClock())
            options.setdefault("ids", CountingIds())
        options.setdefault("axes", BUILD)
        # Scripted models call tools by name; how a model finds them is the menu's own tests' business.
        # A turn whose stages are not the matter is asked for nothing but its answer.
        plain = {"tools.presentation": "flat", "runs.delivery_check": False, "runs.qa_review": False}
        options["settings"] = {**plain, **(options.get("settings") or {})}
        chosen = model if model is not None else ScriptedModel(["done"])
        async with open_session(str(root), model=chosen, **options) as session:
            driver = Driver(session)
            await script(driver)
            return driver

    return asyncio.run(run())
