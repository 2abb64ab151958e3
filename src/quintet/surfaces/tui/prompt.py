"""The prompt: what you type, until Enter submits it."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from quintet.engine.session import Session

NEWLINES = ("shift+enter", "alt+enter", "ctrl+j")


class Prompt(TextArea):
    class Submitted(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    DEFAULT_CSS = """
    Prompt { height: auto; max-height: 10; border: none; padding: 0 1; background: $surface; }
    """

    def __init__(self, session: Session, project: str) -> None:
        super().__init__(id="prompt", compact=True, highlight_cursor_line=False, tab_behavior="focus")
        self._session = session
        self._project = project

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            self.post_message(self.Submitted(self.text))
            self.text = ""
        elif event.key in NEWLINES:
            event.prevent_default()
            event.stop()
            self.insert("\n")
        else:
            await super()._on_key(event)
