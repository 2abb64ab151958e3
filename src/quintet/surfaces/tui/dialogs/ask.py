"""A question of the screen's own, with a few choices: each has a key, and Esc is the last of them.

A key that was hit before the question could be read answers nothing.

What is asked comes first, then what it is about and how that has changed, cut to the screen with a count of the rest:
the choices are always in sight. `d` shows all of it, to be scrolled.

A question about something that was pasted `settles` first: keys that come with the paste, or as fast, are no answer.
It shows all of it from the start.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from quintet.domain.journal.protocol import Choice
from quintet.domain.permission.trusted_content import shares
from quintet.surfaces.tui.dialogs.rows_in_view import RowsInView
from quintet.surfaces.tui.transcript.rows import Row, clean, fitted, lines_of, plain, side_by_side, wrap

AROUND = 4  # columns of border and padding
BORDERS = 2
LEAST_ROWS = 3
GUARD_SECONDS = 0.4  # a key that comes sooner was not meant for this question
DETAILS = "d"
SETTLE_SECONDS = 0.3  # without a key, before one is an answer
_LEAD = re.compile(r" *(\d+  )?")
SCROLLS = {"up": -1, "k": -1, "down": 1, "j": 1}


class AskScreen(ModalScreen[str]):
    DEFAULT_CSS = """
    AskScreen { align: center middle; }
    AskScreen > Vertical { width: auto; max-width: 90%; height: auto; border: round $warning; padding: 0 1;
                           background: $surface; }
    AskScreen RowsInView { width: auto; height: auto; overflow-x: hidden; }
    AskScreen Static { width: auto; }
    """

    def __init__(
        self,
        title: str,
        text: str,
        choices: Sequence[Choice],
        listed: Sequence[str] = (),
        changed: Sequence[str] = (),
        *,
        settles: bool = False,
    ) -> None:
        super().__init__()
        self._settles = settles
        self._last_key = time.monotonic()
        self._title = title
        self._about = lines_of(text)
        self._listed = [clean(line) for line in listed]
        self._changed = [clean(line) for line in changed]
        self._choices = choices
        self._whole = settles
        self._folds = False  # something is cut
        self._since = math.inf  # when it was shown, or a key came too soon

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            yield RowsInView()
            yield Static(id="choices", markup=False)

    def on_mount(self) -> None:
        self._draw()
        self._since = time.monotonic()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width = max(self.size.width * 9 // 10 - AROUND, 1)
        items = [[(f"[{choice.key}] {choice.label}", "")] for choice in self._choices]
        fold = [[(f"[{DETAILS}] {'less' if self._whole else 'all lines'}", "")]]
        most = self.size.height - BORDERS - 1 - len(side_by_side([*items, *fold], width, "   "))
        rows = self._rows(width, max(most, LEAST_ROWS))
        if self._whole or self._folds:
            items += fold
        asked = self.query_one(RowsInView)
        asked.styles.max_height = max(most, 1)
        asked.show(rows)
        self.query_one("#choices", Static).update(_text([(("", ""),), *side_by_side(items, width, "   ")]))

    def _rows(self, width: int, most: int) -> list[Row]:
        about = [row for line in self._about for row in wrap([(line, "")], width)]
        more = [*self._listed, *self._changed]
        whole = about + [row for line in more for row in wrap([(line, "")], width, _hang(line))]
        if self._whole or len(whole) <= most:
            return whole
        self._folds = len(about) > most or any(fitted(line, width) != line for line in more)
        room = most - LEAST_ROWS if more else most
        if len(about) > room:
            about = about[: max(room, 1)]
            self._folds = True
        of_list, of_changes = shares(most - len(about), len(self._listed), len(self._changed))
        lines = self._listed[:of_list]
        if of_list < len(self._listed):
            lines = [*lines, f"  … {len(self._listed) - of_list} more · [{DETAILS}] shows them"]
        lines += self._changed[:of_changes]
        if of_changes < len(self._changed):
            rest = len(self._changed) - of_changes
            lines.append(f"… {rest} more lines of {len(self._changed)} · [{DETAILS}] shows them")
        self._folds = self._folds or of_list < len(self._listed) or of_changes < len(self._changed)
        return about + [((fitted(line, width), ""),) for line in lines]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if not self.is_current:  # answered already: the rest of a burst of keys
            return
        key = "escape" if event.key == "escape" else (event.character or "").lower()
        early, self._last_key = event.time - self._last_key < SETTLE_SECONDS, event.time
        if self._settles and early and key != "escape":
            return
        scroll = self.query_one(RowsInView)
        if key == "escape":
            self.dismiss(self._choices[-1].key)
        elif key in {choice.key for choice in self._choices}:
            if time.monotonic() - self._since < GUARD_SECONDS:
                self._since = time.monotonic()  # probably typed before the question was there to be read
            else:
                self.dismiss(key)
        elif key == DETAILS:
            self._whole = not self._whole
            self._draw()
            scroll.scroll_home(animate=False)
        elif event.key in SCROLLS:
            scroll.scroll_relative(y=SCROLLS[event.key], animate=False)
        elif event.key in ("pageup", "pagedown"):
            by = scroll.size.height - 1
            scroll.scroll_relative(y=by if event.key == "pagedown" else -by, animate=False)
        elif event.key in ("home", "end"):
            scroll.scroll_to(y=0 if event.key == "home" else scroll.max_scroll_y, animate=False)


def _hang(line: str) -> str:
    """What the later rows of a line begin with: as far in as its text, behind a number if it has one."""
    lead = _LEAD.match(line)
    return " " * lead.end() if lead else ""


def _text(rows: Sequence[Row]) -> Text:
    return Text("\n".join(map(plain, rows)), end="", no_wrap=True)
