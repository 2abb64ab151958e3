"""A question of the screen's own, with a few choices: each has a key, and Esc is the last of them."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from quintet.domain.protocol import Choice
from quintet.domain.visible import visible


class AskScreen(ModalScreen[str]):
    DEFAULT_CSS = """
    AskScreen { align: center middle; }
    AskScreen > Vertical { width: auto; max-width: 90%; height: auto; border: round $warning; padding: 0 1;
                           background: $surface; }
    AskScreen Static { width: auto; }
    """

    def __init__(self, title: str, text: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._choices = choices

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            yield Static(visible(self._text), markup=False)
            yield Static("\n" + "   ".join(f"[{c.key}] {c.label}" for c in self._choices), markup=False)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        key = "escape" if event.key == "escape" else (event.character or "").lower()
        if key == "escape":
            self.dismiss(self._choices[-1].key)
        elif key in {choice.key for choice in self._choices}:
            self.dismiss(key)
