"""A prompt alone on a screen, in a real session of a real project; what it submits, and what can be read there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from quintet.app.open import open_session
from quintet.app.terminal_ui import at_hand
from quintet.domain.dials.axes import Surface
from quintet.engine.session.session import Session
from quintet.surfaces.tui.prompt.popup import Popup
from quintet.surfaces.tui.prompt.prompt import Prompt
from quintet.surfaces.tui.prompt.prompt_area import PromptArea
from quintet.testing import ScriptedModel
from tests.surfaces.tui.settling import SECONDS, Arrivals


class Alone(App[None]):
    """Nothing but the prompt."""

    COMMAND_PALETTE_BINDING = "f1"  # Ctrl+P is the popup's

    def __init__(self, session: Session, root: Path) -> None:
        super().__init__()
        self.submitted: list[str] = []
        self.searches: list[Prompt.SearchWanted] = []
        self._session = session
        self._root = root

    def compose(self) -> ComposeResult:
        yield Static("above", id="above")
        yield Prompt(self._session, at_hand(str(self._root)))

    def on_mount(self) -> None:
        self.query_one(Prompt).focus()

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        self.submitted.append(event.text)

    def on_prompt_search_wanted(self, event: Prompt.SearchWanted) -> None:
        self.searches.append(event)


class Typist:
    """Somebody at the prompt."""

    def __init__(self, pilot: Pilot[None], app: Alone, session: Session, arrivals: Arrivals) -> None:
        self.pilot = pilot
        self._arrivals = arrivals
        self.app = app
        self.session = session
        self.prompt = app.query_one(Prompt)
        self.area = app.query_one(PromptArea)
        self.popup = app.query_one(Popup)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.app._press_keys((key,))
            await self.settles()

    async def types(self, text: str, apart: float = 0.0) -> None:
        """`apart`: the seconds between two keys, by their own clock."""
        from textual.events import Key

        for number, char in enumerate(text, 1):
            key = Key("ctrl+j", None) if char == "\n" else Key(char, char)
            key.time += number * apart
            self.area.post_message(key)
        await self.settles()

    async def pastes(self, text: str) -> None:
        from textual.events import Paste

        self.area.post_message(Paste(text))
        await self.settles()

    async def settles(self) -> None:
        """Until all that was posted to the screen is handled and drawn."""
        await self._arrivals.settle(self.app)

    async def until(self, true: Callable[[], Any]) -> None:
        """Wait for something that happens in the background, and until it is drawn."""
        async with asyncio.timeout(SECONDS):
            while not true():  # noqa: ASYNC110  nobody tells of it
                await asyncio.sleep(0.01)
        await self.settles()

    @property
    def offered(self) -> list[str]:
        return [row.label for row in self.popup.rows]

    def rows(self) -> list[str]:
        """The screen as text."""
        return [
            "".join(segment.text for segment in line).rstrip() for line in self.app.screen._compositor.render_strips()
        ]


@asynccontextmanager
async def at_prompt(
    root: Path, size: tuple[int, int] = (80, 24), replies: tuple[str, ...] = (), agent: str = "", **settings: object
) -> AsyncIterator[Typist]:
    """`settings` are those of [prompt]; keys typed by a test come rapidly and are no paste."""
    chosen = {f"prompt.{name}": value for name, value in {"rapid_paste": False, **settings}.items()}
    model = ScriptedModel(list(replies))
    async with open_session(
        str(root), surface=Surface.TUI, person=True, settings=chosen, model=model, agent=agent
    ) as session:
        app = Alone(session, root)
        arrivals = Arrivals()
        async with app.run_test(size=size, message_hook=arrivals) as pilot:
            typist = Typist(pilot, app, session, arrivals)
            await typist.settles()
            yield typist
