"""A picker: a list over the screen, filtered by what is typed; what is highlighted is explained below it.

Typing filters; Up, Down, Ctrl+N and Ctrl+P move the highlight, Enter takes it, Esc closes. Tab goes to the list, where
j, k, g and G move too, and back. The rows are looked up in the background and come when they are there; where there are
none, the picker says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import visible
from quintet.domain.settings.screen import spelled
from quintet.surfaces.tui.transcript.rows import clean, fitted

TAKE = "take"  # what Enter does
DETAIL_SECONDS = 0.08  # a highlight that moves on within this time is not explained
PAGE = 10
SCROLLBAR = 3  # columns kept for one and the gap before it: on a low screen few rows have it too
LEAST_LAST = 14  # cells that the last column keeps while others can be cut
LEAST_OTHER = 10  # cells that every other column keeps while the first, which names the row, can stay whole
LIST_KEYS = frozenset("jkgG")
MOST_LINE = 400  # characters of one cell


class PickRow(Struct, frozen=True):
    id: str
    cells: tuple[str, ...]
    detail: str = ""  # said below the list
    here: bool = False  # the one in use


class Picked(Struct, frozen=True):
    id: str
    action: str = TAKE


class PickList(OptionList):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
    ]


class Picker(ModalScreen[Picked | None]):
    """What is chosen, and by which key; None if nothing is."""

    DEFAULT_CSS = """
    Picker {
        align: center middle;
        & > Vertical {
            width: 96%; max-width: 110; height: auto; max-height: 90%;
            border: round $accent; padding: 0 1; background: $surface;
        }
        & Input { border: none; height: 1; padding: 0; background: $surface; }
        & PickList {
            border: none; padding: 0; height: auto; max-height: 14; background: $surface;
            &:focus { border: none; background-tint: $foreground 0%; }
            & > .option-list--option { padding: 0; }
            & > .option-list--option-highlighted {
                color: $block-cursor-foreground; background: $block-cursor-background;
                text-style: $block-cursor-text-style;
            }
        }
        & .none { height: auto; color: $text-muted; display: none; }
        & .detail { height: auto; max-height: 12; overflow-y: auto; margin-top: 1; color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False, priority=True),
        Binding("down,ctrl+n", "move(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]
    heading: ClassVar[str] = ""
    verb: ClassVar[str] = "choose"  # what Enter does, in a word
    others: ClassVar[dict[str, tuple[str, str]]] = {}  # further keys: the action's name, and what it does
    nothing: ClassVar[str] = "nothing to choose from"

    def __init__(self, typed: str = "") -> None:
        super().__init__()
        self._typed = typed
        self._rows: list[PickRow] | None = None
        self._shown: list[PickRow] = []
        self._generation = 0  # of the explanation

    # ── for each picker

    async def rows(self) -> list[PickRow]:
        """What there is to choose from."""
        return []

    async def detail(self, row: PickRow) -> str:
        """What is said about the highlighted row."""
        return row.detail

    async def note(self) -> str:
        """A note above the list; empty for none."""
        return ""

    # ── the screen

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self.heading
            yield Static(classes="note none", markup=False)
            yield Input(self._typed, placeholder="type to filter", compact=True, select_on_focus=False, id="filter")
            yield PickList(markup=False, compact=True)
            yield Static("looking…", classes="none empty", markup=False)
            yield Static(classes="detail", markup=False)
            yield from self.below()

    def below(self) -> Iterable[Widget]:
        """Widgets below the explanation."""
        return ()

    async def on_mount(self) -> None:
        self.query_one("#filter", Input).focus()
        self.query_one(".empty").display = True
        self.run_worker(self.reload(), exit_on_error=False)

    async def reload(self, highlight: str = "") -> None:
        """Look the rows up (anew), and highlight one of them."""
        try:
            self._rows = await self.rows()
            said = await self.note()
        except QuintetError as error:
            self._rows, said = [], str(error)
        if not self.is_attached:
            return
        note = self.query_one(".note", Static)
        note.update(visible(said))
        note.display = bool(said)
        here = next((row.id for row in self._rows if row.here), "")
        self.filter(highlight or here)

    def filter(self, highlight: str = "") -> None:
        """Show the rows that have every typed word in them, in their order."""
        if self._rows is None:
            return
        words = self.query_one("#filter", Input).value.lower().split()
        self._shown = [row for row in self._rows if all(word in _searched(row) for word in words)]
        found = self.query_one(PickList)
        lines = aligned([row.cells for row in self._shown], self._width() - SCROLLBAR)
        found.set_options(
            Option(Content(f"{'•' if row.here else ' '} {line}")) for row, line in zip(self._shown, lines, strict=True)
        )
        at = next((index for index, row in enumerate(self._shown) if row.id == highlight), 0)
        found.highlighted = at if self._shown else None
        found.call_after_refresh(found.scroll_to_highlight)  # before it is laid out there is nothing to scroll
        empty = self.query_one(".empty", Static)
        empty.display = not self._shown
        empty.update(self.nothing if not self._rows else "nothing matches")
        found.display = bool(self._shown)
        self._explain()

    def _width(self) -> int:
        """Of a row's text: the box less its border, its padding and the mark."""
        return max(min(self.size.width * 96 // 100, 110) - 6, 10)

    def _keys_shown(self, room: int) -> str:
        """What the keys do, in as many words as there is room for."""
        others = [(spelled(key), about) for key, (_, about) in self.others.items()]
        for close in (("Esc closes",), ("Esc",), ()):
            for words in (None, 1):
                keys = (f"{key} {' '.join(about.split()[:words])}" for key, about in others)
                shown = " · ".join((f"Enter {self.verb}", *keys, *close))
                if len(shown) <= room:
                    return shown
        return shown

    @property
    def highlighted(self) -> PickRow | None:
        at = self.query_one(PickList).highlighted
        return self._shown[at] if at is not None and at < len(self._shown) else None

    def _explain(self) -> None:
        self._generation += 1
        generation = self._generation

        def begin() -> None:
            if generation == self._generation:
                self.run_worker(self._explained(generation), exit_on_error=False)

        self.set_timer(DETAIL_SECONDS, begin)

    async def _explained(self, generation: int) -> None:
        row = self.highlighted
        try:
            text = await self.detail(row) if row else ""
        except QuintetError as error:
            text = str(error)
        if generation == self._generation and self.is_attached:
            detail = self.query_one(".detail", Static)
            detail.update(visible(text))
            detail.display = bool(text)

    # ── keys

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, by: int) -> None:
        found = self.query_one(PickList)
        if found.option_count:
            found.highlighted = ((found.highlighted or 0) + by) % found.option_count

    def action_page(self, by: int) -> None:
        found = self.query_one(PickList)
        if found.option_count:
            found.highlighted = max(0, min((found.highlighted or 0) + by * PAGE, found.option_count - 1))

    def take(self, action: str = TAKE) -> None:
        if row := self.highlighted:
            self.dismiss(Picked(row.id, action))

    def on_key(self, event: events.Key) -> None:
        if event.key in self.others:
            event.stop()
            self.take(self.others[event.key][0])
        elif event.is_printable and event.character not in LIST_KEYS and isinstance(self.focused, PickList):
            event.stop()  # typing at the list filters it
            typed = self.query_one("#filter", Input)
            typed.focus()
            if event.character and event.character != "/":
                typed.insert_text_at_cursor(event.character)

    @on(Input.Changed, "#filter")
    def _typed_more(self, event: Input.Changed) -> None:
        event.stop()
        self.filter()

    @on(Input.Submitted, "#filter")
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.take()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.take()

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._explain()

    def on_resize(self) -> None:
        self.query_one(Vertical).border_subtitle = self._keys_shown(self._width())
        row = self.highlighted
        self.filter(row.id if row else "")

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss(None)


def _searched(row: PickRow) -> str:
    return " ".join(row.cells).lower()


def aligned(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows of cells with their columns below each other, each row no wider than `width`.

    Where they are too wide the last column is cut first, then the widest of the others; nothing is wrapped.
    """
    shown = [[clean(cell)[:MOST_LINE] for cell in row] for row in rows]
    if not shown:
        return []
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    room = max(width - 2 * (len(widths) - 1), len(widths))
    widths[-1] = max(min(widths[-1], LEAST_LAST), widths[-1] - max(sum(widths) - room, 0))
    while sum(widths) > room:
        others = max(widths[1:], default=0)
        at = widths.index(others, 1) if others > LEAST_OTHER else widths.index(max(widths))
        widths[at] -= 1
    return ["  ".join(_cell(cell, wide) for cell, wide in zip(row, widths, strict=True)).rstrip() for row in shown]


def _cell(text: str, width: int) -> str:
    text = fitted(text, width)
    return text + " " * (width - cell_len(text))
