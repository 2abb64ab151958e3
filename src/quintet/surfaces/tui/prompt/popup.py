"""The popup above the prompt: files, commands or an agent's menu, one of them selected. It takes no keys itself.

It is hidden, loading, without matches, or showing rows. A note may stand above the rows.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from quintet.surfaces.tui.transcript.rows import clean, fitted

MOST_ROWS = 8
LOADING_TEXT = "looking…"
NO_MATCHES_TEXT = "no matches"


class PopupState(StrEnum):
    HIDDEN = "hidden"
    LOADING = "loading"
    NO_MATCHES = "no matches"
    SHOWING = "showing"


class PopupRow(Struct, frozen=True):
    label: str
    about: str = ""


class Popup(Widget):
    DEFAULT_CSS = """
    Popup {
        height: auto;
        max-height: 10;
        display: none;
        padding: 0 1;
        background: $surface;
        &.-open { display: block; }
    }
    """

    class Chosen(Message):
        """A row was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__()
        self.state = PopupState.HIDDEN
        self.rows: tuple[PopupRow, ...] = ()
        self.selected = 0
        self.moved = False  # whether the selected row was chosen
        self.note = ""

    @property
    def takes_keys(self) -> bool:
        """Whether there is something to select."""
        return self.state is PopupState.SHOWING and bool(self.rows)

    def hide(self) -> None:
        self._become(PopupState.HIDDEN)

    def load(self) -> None:
        """Say that a search is under way, unless older results are there to look at."""
        if self.state is not PopupState.SHOWING:
            self._become(PopupState.LOADING)

    def show(self, rows: tuple[PopupRow, ...], note: str = "") -> None:
        """Show rows, the first one selected; the selection stays where the rows are still the same."""
        if rows != self.rows or self.state is not PopupState.SHOWING:
            self.selected, self.moved = 0, False
        self._become(PopupState.SHOWING if rows or note else PopupState.NO_MATCHES, rows, note)

    def move(self, by: int) -> None:
        """Select another row, around the ends."""
        if self.rows:
            self.selected, self.moved = (self.selected + by) % len(self.rows), True
            self.refresh()

    def _become(self, state: PopupState, rows: tuple[PopupRow, ...] = (), note: str = "") -> None:
        taller = len(rows) != len(self.rows) or bool(note) != bool(self.note) or state is not self.state
        self.state, self.rows, self.note = state, rows, note
        self.set_class(state is not PopupState.HIDDEN, "-open")
        self.refresh(layout=taller)

    def _first(self) -> int:
        """The first row in view: the selected one is always among the eight."""
        return min(max(0, self.selected - MOST_ROWS + 1), max(0, len(self.rows) - MOST_ROWS))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return min(len(self.rows), MOST_ROWS) + self._heading_height()

    def _heading(self) -> str:
        if self.state is PopupState.LOADING:
            return LOADING_TEXT
        return NO_MATCHES_TEXT if self.state is PopupState.NO_MATCHES else self.note

    def _heading_height(self) -> int:
        return 1 if self._heading() else 0

    def render(self) -> Content:
        width = self.content_size.width
        lines: list[Content] = []
        if heading := self._heading():
            lines.append(Content.styled(fitted(clean(heading), width), "dim"))
        first = self._first()
        labels = [clean(row.label) for row in self.rows]
        column = min(max((cell_len(label) for label in labels), default=0), max(width // 2, 12))
        shown = range(first, min(first + MOST_ROWS, len(self.rows)))
        lines += [self._line(index, labels[index], column, width) for index in shown]
        return Content("\n").join(lines)

    def _line(self, index: int, label: str, column: int, width: int) -> Content:
        chosen = index == self.selected
        about = clean(self.rows[index].about)
        room = max(width - 2, 1)
        if not about:
            text = fitted_begin(label, room)
            return Content.styled(f"{'› ' if chosen else '  '}{text}", "reverse" if chosen else "")
        name = fitted_begin(label, column)
        name += " " * (column - cell_len(name))
        about = fitted(about, max(room - column - 2, 0))
        if chosen:
            return Content.styled(f"› {name}  {about}", "reverse")
        return Content.assemble(f"  {name}  ", (about, "dim"))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or not self.rows:
            return
        index = self._first() + offset.y - self._heading_height()
        if 0 <= index < len(self.rows):
            self.post_message(self.Chosen(index))


def fitted_begin(text: str, width: int) -> str:
    """The text, cut at its beginning where it is too wide: the end of a path says more."""
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) >= width:
        text = text[1:]
    return f"…{text}" if width > 0 else ""
