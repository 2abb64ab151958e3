"""The sheet of keys, over everything else until a key is pressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

PROMPT_KEYS = (
    ("Enter", "send"),
    ("Shift+Enter, Alt+Enter, Ctrl+J", "a new line"),
    ("@  /  !", "a file, a command, a shell line of your own"),
    ("Esc", "close what is open, or interrupt; twice on an empty prompt: rewind"),
    ("Tab", "to the transcript and back; there Enter or Space opens a fold"),
)


class KeySheet(ModalScreen[None]):
    DEFAULT_CSS = """
    KeySheet { align: center middle; }
    KeySheet > VerticalScroll { width: 96%; max-width: 110; height: auto; max-height: 90%;
                                border: round $accent; padding: 0 1; background: $surface; }
    KeySheet Static { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,question_mark,enter", "dismiss", show=False)]

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = [*PROMPT_KEYS, *keys]

    def compose(self) -> ComposeResult:
        from rich.table import Table

        with VerticalScroll() as sheet:
            sheet.border_title = "keys"
            sheet.border_subtitle = r"Esc closes · \[keys] in settings changes them"
            rows = Table.grid(padding=(0, 2))
            rows.add_column(ratio=2)
            rows.add_column(ratio=3)
            for key, about in self._keys:
                rows.add_row(key, about)
            yield Static(rows)

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss()
