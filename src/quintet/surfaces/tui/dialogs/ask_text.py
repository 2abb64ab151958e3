"""A line of text that the screen asks for: a name, or a key, which is not shown. Esc is no answer."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from quintet.domain.base.safe_text import visible


class AskText(ModalScreen[str]):
    DEFAULT_CSS = """
    AskText { align: center middle; }
    AskText > Vertical { width: 80%; max-width: 90; height: auto; border: round $accent; padding: 0 1;
                         background: $surface; }
    AskText Input { border: none; height: 1; padding: 0; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def __init__(self, title: str, about: str, *, hidden: bool = False) -> None:
        super().__init__()
        self._title = title
        self._about = about
        self._hidden = hidden

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = "Enter sends · Esc closes"
            yield Static(visible(self._about), markup=False)
            yield Input(password=self._hidden, compact=True, id="answer")

    def on_mount(self) -> None:
        self.query_one("#answer", Input).focus()

    def action_close(self) -> None:
        self.dismiss("")

    @on(Input.Submitted, "#answer")
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())
