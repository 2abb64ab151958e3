"""Every key and slash command: as a sheet until a key is pressed, and as a palette, found by words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.cells import set_cell_size
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from quintet.domain.input.slash_line import CommandUsage
from quintet.surfaces.tui.dialogs.picker import Picker, PickRow
from quintet.surfaces.tui.dialogs.rows_in_view import RowsInView
from quintet.surfaces.tui.transcript.rows import Row, plain, wrap

WIDEST = 110  # columns of the sheet
AROUND = 6  # of them, for its border, its padding and a scroll bar
KEY = "key "  # before the name of an action; anything else is a command's usage
PROMPT_KEYS = (
    ("Enter", "send"),
    ("Shift+Enter, Alt+Enter, Ctrl+J, \\ Enter", "insert a newline"),
    ("@  /  !", "add a file, a command, a shell line"),
    ("Esc", "close what is open, or interrupt the turn; twice on an empty prompt: rewind"),
    ("Tab", "move to the transcript and back; there Enter or Space opens a fold"),
)
EDITING_KEYS = (
    ("Up", "previous inputs; if inputs are queued: edit one, or remove it with Ctrl+X"),
    ("Ctrl+_", "undo; Ctrl+Shift+Z or Alt+Z: redo"),
    ("Ctrl+K, Ctrl+U, Ctrl+W, Alt+D, Alt+Backspace", "delete to the end or start of the line, or a word left or right"),
    ("Ctrl+Y, Alt+Y", "insert what was deleted last; then what was deleted before"),
)


class KeySheet(ModalScreen[None]):
    DEFAULT_CSS = """
    KeySheet { align: center middle; }
    KeySheet > RowsInView { width: 96%; max-width: 110; height: auto; max-height: 90%; overflow-x: hidden;
                            border: round $accent; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,question_mark,enter", "dismiss", show=False)]

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = [*PROMPT_KEYS, *keys, *EDITING_KEYS]

    def compose(self) -> ComposeResult:
        sheet = RowsInView()
        sheet.can_focus = True
        sheet.border_title = "keys"
        sheet.border_subtitle = r"Esc closes · \[keys] in settings changes them"
        yield sheet

    def on_resize(self) -> None:
        width = max(min(self.size.width * 96 // 100, WIDEST) - AROUND, 10)
        left = width * 2 // 5
        self.query_one(RowsInView).show([row for pair in self._keys for row in _pair(*pair, left, width - left - 2)])

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss()


def _pair(key: str, about: str, left: int, right: int) -> list[Row]:
    """A key and what it does, in columns of these widths."""
    keys, abouts = wrap([(key, "")], left), wrap([(about, "")], right)
    return [
        ((f"{set_cell_size(plain(one) if one else '', left)}  {plain(other) if other else ''}", ""),)
        for one, other in zip_longest(keys, abouts)
    ]


class Palette(Picker):
    heading = "keys and commands"
    verb = "runs it"

    def __init__(
        self, keys: Sequence[tuple[str, str, str]], themes: Sequence[str], commands: Sequence[CommandUsage]
    ) -> None:
        super().__init__()
        self._keys = keys
        self._themes = themes
        self._commands = commands

    async def rows(self) -> list[PickRow]:
        rows = [PickRow(f"{KEY}{name}", (keys or "no key", about), about) for name, keys, about in self._keys]
        rows += [PickRow(f"/theme {name}", (f"/theme {name}", "the colours of this screen")) for name in self._themes]
        return rows + [
            PickRow(one.usage, (f"/{one.name}", one.help), f"{one.usage}\n{one.help}") for one in self._commands
        ]
