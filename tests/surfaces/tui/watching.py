"""A person at the screen, for tests: presses keys, types, waits for words, and reads the screen as plain text."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from quintet.app.open import open_session
from quintet.domain.dials.axes import Axes, AxesChange, Surface
from quintet.domain.settings.settings import Settings
from quintet.engine.session.session import Session
from quintet.surfaces.tui.app import TerminalUi
from quintet.surfaces.tui.chrome.header import HeaderLine
from quintet.surfaces.tui.chrome.status_line import StatusLine
from quintet.surfaces.tui.context import TuiContext
from quintet.surfaces.tui.dialogs.ask import AskScreen
from quintet.surfaces.tui.prompt.prompt import Prompt
from quintet.surfaces.tui.prompt.question_panel import QuestionPanel
from quintet.surfaces.tui.transcript.scrollback import Scrollback
from quintet.testing import CountingIds, FrozenClock, ScriptedModel
from tests.surfaces.tui.settling import SECONDS, Arrivals

SCREENS = Path(__file__).parent / "screens"
A_MODEL = {"models.m.base_url": "http://127.0.0.1:9/v1", "models.m.model": "m", "routing.smart": "m"}
PLAIN = {
    "tools.presentation": "flat",
    "runs.delivery_check": False,
    "runs.qa_review": False,
    "prompt.rapid_paste": False,
}


class Person:
    def __init__(self, ui: TerminalUi, pilot: Pilot[int], arrivals: Arrivals) -> None:
        self.ui = ui
        self.pilot = pilot
        self._arrivals = arrivals

    # ── does

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.ui._press_keys((key,))
            await self.settles()

    async def type(self, text: str) -> None:
        """Into the prompt, and sends it."""
        self.ui.prompt.focus()
        self.ui.prompt.text = text
        await self.press("enter")

    async def settles(self) -> None:
        """Until all that was posted to the screen is handled and drawn."""
        await self._arrivals.settle(self.ui)

    async def wait(self, wanted: Callable[[], object], what: str = "") -> None:
        async with asyncio.timeout(SECONDS):
            try:
                while not wanted():
                    await asyncio.sleep(0.01)
                    await self.settles()
            except asyncio.CancelledError:
                raise AssertionError(f"waited for {what}\n{self.text}") from None

    async def sees(self, *words: str) -> None:
        for word in words:
            await self.wait(lambda word=word: word in self.text, word)

    async def rests(self) -> None:
        """Until no turn runs and nothing waits in the inbox."""
        await self.wait(
            lambda: not self.ui.own and not self.ui.state.turns.open and not self.ui.state.turns.waiting, "rest"
        )
        await self.drawn()

    async def drawn(self) -> None:
        """Until the screen shows all of the transcript."""
        await self.wait(lambda: self.ui.transcript._changed is None, "the last rows")
        await self.settles()

    async def asked(self) -> None:
        await self.wait(lambda: self.question.asked, "a question")
        self.question._since = 0.0  # it has been there for a while

    # ── sees

    @property
    def text(self) -> str:
        """The screen as lines of text."""
        screen = self.ui.screen
        strips = screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    @property
    def badge(self) -> str:
        return " ".join(self.ui.query_one(HeaderLine).render().plain.split())

    @property
    def axes(self) -> Axes:
        assert self.ui.session
        return self.ui.session.state.axes

    @property
    def heard(self) -> int:
        """The number of the newest event that the screen has been given."""
        return self.ui.last_seq

    @property
    def transcript(self) -> list[str]:
        return self.ui.query_one(Scrollback).shown

    @property
    def scrollback(self) -> Scrollback:
        return self.ui.query_one(Scrollback)

    @property
    def question(self) -> QuestionPanel:
        return self.ui.query_one(QuestionPanel)

    @property
    def status(self) -> str:
        return self.ui.query_one(StatusLine).render().plain

    async def looks_like(self, name: str) -> None:
        """Until the screen is as in the file of that name; SCREENS=write makes the files anew.

        But for the scrollbar: where it stands depends on what is above the view.
        """
        path = SCREENS / f"{name}.txt"
        if os.environ.get("SCREENS") == "write":
            path.write_text(self.text.rstrip() + "\n")
        wanted = _without_scrollbar(path.read_text())
        await self.wait(lambda: _without_scrollbar(self.text) == wanted, name)


def _without_scrollbar(text: str) -> str:
    return re.sub(r"[ ▁▂▃▄▅▆▇█]+$", "", text, flags=re.M).rstrip()


def watch(
    root: Path,
    script: Callable[[Person], Awaitable[None]],
    *replies: Any,
    model: Any = None,
    size: tuple[int, int] = (100, 30),
    settings: dict[str, Any] | None = None,
    own: Settings | None = None,
    axes: AxesChange | None = None,
    theme: str = "dark",
    resume: str = "",
    first: Callable[[Person], Awaitable[None]] | None = None,  # before there is a session
    first_keys: tuple[str, str] | None = None,
    deterministic: bool = True,
    own_open: Callable[[str], AbstractAsyncContextManager[Session]] | None = None,
    **context: Any,
) -> TerminalUi:
    """Open the screen over a session with a scripted model, and let a person do something at it."""
    fixed: dict[str, Any] = {} if resume or not deterministic else {"clock": FrozenClock(), "ids": CountingIds()}
    scripted = model or ScriptedModel(list(replies) or ["done"])

    def opened(session: str) -> AbstractAsyncContextManager[Session]:
        return open_session(
            str(root),
            surface=Surface.TUI,
            person=True,
            model=scripted,
            resume=session or resume,
            axes=axes,
            settings={**PLAIN, **(settings or {})},
            **fixed,
        )

    async def run() -> TerminalUi:
        ui = TerminalUi(
            TuiContext(
                name="tally",
                sandbox="bwrap",
                settings=own or Settings(),
                open=own_open or opened,
                theme=theme,
                **context,
            )
        )
        arrivals = Arrivals()
        async with ui.run_test(size=size, message_hook=arrivals) as pilot:
            person = Person(ui, pilot, arrivals)
            if first:
                await first(person)
            if first_keys:  # a question before there is a session, and the key that answers it
                await person.sees(first_keys[0][:60])
                if isinstance(ui.screen, AskScreen):
                    ui.screen._since = 0.0  # it has been there for a while
                await person.press(first_keys[1])
            await person.wait(lambda: ui.query(Prompt) and ui.state.session, "the prompt")
            await person.settles()
            await script(person)
        await ui.close_session()
        if ui.failure:
            raise ui.failure
        return ui

    return asyncio.run(run())
