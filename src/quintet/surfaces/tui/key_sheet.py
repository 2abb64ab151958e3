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
    KeySheet > VerticalScroll { width: auto; max-width: 96%; height: auto; max-height: 90%;
                                border: round $accent; padding: 0 1; background: $surface; }
    KeySheet Static { width: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,question_mark,enter", "dismiss", show=False)]

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = [*PROMPT_KEYS, *keys]

    def compose(self) -> ComposeResult:
        width = max(len(key) for key, _ in self._keys)
        with VerticalScroll() as sheet:
            sheet.border_title = "keys"
            sheet.border_subtitle = "Esc closes · [keys] in settings changes them"
            text = "\n".join(f"{key:<{width}}  {about}" for key, about in self._keys)
            yield Static(text, markup=False)

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss()
