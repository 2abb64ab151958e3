"""The bar that finds words in the transcript: Enter goes back to the match before, Shift+Enter or Down to the next."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class FindBar(Horizontal):
    DEFAULT_CSS = """
    FindBar { height: 1; display: none; padding: 0 1; }
    FindBar > Input { width: 1fr; border: none; height: 1; padding: 0; background: $surface; }
    FindBar > Static { width: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "go(True)", show=False),
        Binding("down,shift+enter", "go(False)", show=False),
    ]

    class Wanted(Message):
        """Go to a match; with no words the bar is closed."""

        def __init__(self, words: str, backwards: bool = True, again: bool = False) -> None:
            super().__init__()
            self.words = words
            self.backwards = backwards
            self.again = again

    def compose(self) -> ComposeResult:
        yield Static("find ", id="find-label")
        yield Input(placeholder="words · Enter previous, Down next, Esc closes", id="find", compact=True)
        yield Static("", id="found")

    def open(self) -> None:
        self.display = True
        self.query_one(Input).focus()

    def close(self) -> None:
        self.display = False
        self.post_message(self.Wanted(""))

    def show_count(self, number: int, count: int) -> None:
        words = self.query_one(Input).value
        self.query_one("#found", Static).update(f" {number} of {count}" if count else " none" if words else "")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Wanted(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_go(True)

    def action_go(self, backwards: bool) -> None:
        self.post_message(self.Wanted(self.query_one(Input).value, backwards, again=True))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.close()
