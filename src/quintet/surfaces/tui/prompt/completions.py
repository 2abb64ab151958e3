"""What the popup offers for what is typed, and how the text changes when a row is taken.

`@` offers files, found in the background: a search begins 50 ms after the last key, and results of an older one are
dropped by their generation. `/` offers commands and the words of their arguments; Enter never runs one that was neither
chosen nor begun. With an agent, `/` or a number offers
its menu, and a digit takes the item of that number.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct
from textual.timer import Timer
from textual.widgets import TextArea

from quintet.domain.agents.agent import Agent, visible_menu
from quintet.domain.input.at_file import AtToken, at_token, completed
from quintet.domain.input.slash_line import Hint, hints, meant
from quintet.domain.ports.prompt import FileFinder
from quintet.engine.session.session import Session
from quintet.surfaces.tui.prompt.popup import MOST_ROWS, Popup, PopupRow, PopupState

DEBOUNCE_SECONDS = 0.05
AGENT_SECONDS = 1.0  # how old the agent of another process's session may be
MOVES = {"up": -1, "down": 1, "ctrl+p": -1, "ctrl+n": 1}


class Completion(Struct, frozen=True):
    """A row of the popup, and what taking it does."""

    row: PopupRow
    text: str = ""  # the whole prompt then
    path: str = ""  # or a path in the place of the token
    ready: bool = False  # whether Enter submits it
    number: str = ""  # of an agent's menu


class Completions:
    def __init__(
        self, area: TextArea, put: Callable[[str], None], popup: Popup, session: Session, finder: FileFinder | None
    ) -> None:
        self._area = area
        self._put = put  # another text into it
        self._popup = popup
        self._session = session
        self._finder = finder
        self._offered: tuple[Completion, ...] = ()
        self._quiet: str | None = None  # the text for which nothing is offered
        self._generation = 0
        self._asked: str | None = None  # the query that is searched or shown
        self._timer: Timer | None = None
        self._seen: tuple[str, tuple[int, int]] = ("", (0, 0))  # the text and cursor looked at last
        self._agent: Agent | None = None
        self._agent_at = float("-inf")
        self.ready = False  # whether what was taken last is to be submitted

    # ── from the prompt

    def look(self) -> None:
        """The text or the cursor has changed: offer what fits now."""
        text = self._area.text
        row, column = self._area.cursor_location
        self._seen = (text, (row, column))
        if text == self._quiet:
            self._hide()
            return
        self._quiet = None
        token = at_token(self._area.document[row], column)
        if token and self._finder:
            self._search(token)
            return
        self._stop_searching()
        offers, note = self._menu_and_commands(text)
        if offers or note:
            self._show(offers, note)
        else:
            self._hide()

    def key(self, key: str) -> bool:
        """Whether the popup takes a key. After it `ready` says whether the prompt is to be submitted."""
        self.ready = False
        if self._seen != (self._area.text, self._area.cursor_location):
            self.look()  # typed so fast that the popup has not followed yet
        if key == "escape":
            return self.close()
        if not self._popup.takes_keys:
            return key == "tab" and self._popup.state is PopupState.LOADING  # its rows are still being searched for
        if key in MOVES:
            self._popup.move(MOVES[key])
            return True
        if key == "tab":
            self.take(self._popup.selected, submit=False)
            return True
        if key == "enter":
            taken = self._popup.selected if self._popup.moved else self._meant()
            if taken is not None:
                self.take(taken)
            return taken is not None
        if self._area.text == "/" and key.isdecimal():
            numbered = next((at for at, offer in enumerate(self._offered) if offer.number == key), None)
            if numbered is not None:
                self.take(numbered)
                return True
        return False

    def _meant(self) -> int | None:
        """What Enter takes though nothing was chosen: a file, or the only row that begins with what is typed."""
        if self._offered[0].path:
            return self._popup.selected
        return meant(self._area.text, [offer.text for offer in self._offered])

    def take(self, index: int, *, submit: bool = True) -> None:
        offer = self._offered[index]
        whole = not offer.path and self._area.text.strip() == offer.text.strip()  # nothing would be added
        self.ready = submit and (offer.ready or whole)
        if not offer.path:
            self._quiet = offer.text if offer.ready else None
            self._put(offer.text)
            return
        row, column = self._area.cursor_location
        line = self._area.document[row]
        token = at_token(line, column)
        if token:
            written, cursor = completed(line, token, offer.path)
            self._area.replace(written, (row, 0), (row, len(line)), maintain_selection_offset=False)
            self._area.move_cursor((row, cursor))
        self._hide()

    def close(self) -> bool:
        """Close the popup until the text changes; whether it was open."""
        if not self._popup.has_class("-open"):
            return False
        self._quiet = self._area.text
        self._hide()
        return True

    def quiet(self, text: str) -> None:
        """This text is put in, not typed: nothing is offered for it."""
        self._quiet = text
        self._hide()

    def agent(self) -> Agent | None:
        """The active agent. Of a session that another process runs, it may be a second old."""
        if self._session.owned_here:
            return self._session.state.runs.agent
        if time.monotonic() - self._agent_at > AGENT_SECONDS:
            self._agent, self._agent_at = self._session.state.runs.agent, time.monotonic()
        return self._agent

    # ── commands and menus

    def _menu_and_commands(self, text: str) -> tuple[tuple[Completion, ...], str]:
        if text.isdecimal():
            return self._menu(text), ""
        if not text.startswith("/"):  # to list the commands is to look for skills on disk
            return (), ""
        found = hints(text, self._session.commands)
        commands = tuple(map(_command, found.rows))
        menu = self._menu("") if text == "/" else ()
        return (*menu, *commands), found.note

    def _menu(self, typed: str) -> tuple[Completion, ...]:
        agent = self.agent()
        if agent is None:
            return ()
        items = enumerate(visible_menu(agent, self._session.surface), 1)
        return tuple(
            Completion(PopupRow(f"{number}", item.label), text=f"{number}", ready=True, number=f"{number}")
            for number, item in items
            if f"{number}".startswith(typed)
        )

    def _show(self, offers: tuple[Completion, ...], note: str = "") -> None:
        self._offered = offers
        self._popup.show(tuple(offer.row for offer in offers), note)

    def _hide(self) -> None:
        self._stop_searching()
        self._offered = ()
        self._popup.hide()

    # ── files

    def _search(self, token: AtToken) -> None:
        if token.query == self._asked:
            return
        self._stop_searching()
        self._asked = token.query
        if not (self._offered and self._offered[0].path):  # files of the query before may stay in view
            self._offered = ()
            self._popup.hide()
        self._popup.load()
        generation = self._generation
        self._timer = self._area.set_timer(
            DEBOUNCE_SECONDS,
            lambda: self._area.run_worker(self._found(token.query, generation), exit_on_error=False),
        )

    def _stop_searching(self) -> None:
        self._generation += 1
        self._asked = None
        if self._timer:
            self._timer.stop()
            self._timer = None

    async def _found(self, query: str, generation: int) -> None:
        assert self._finder
        self._show_files(await self._finder.find(query, MOST_ROWS), generation)
        if generation == self._generation and await self._finder.renewed():
            self._show_files(await self._finder.find(query, MOST_ROWS), generation)

    def _show_files(self, paths: list[str], generation: int) -> None:
        if generation == self._generation:
            self._show(tuple(Completion(PopupRow(path), path=path) for path in paths))


def _command(hint: Hint) -> Completion:
    return Completion(PopupRow(hint.label, hint.about), text=hint.text, ready=hint.ready)
