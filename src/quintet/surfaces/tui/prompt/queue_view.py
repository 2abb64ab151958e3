"""What is queued, above the prompt: numbered, in order, a few lines of it. The one that is being changed is marked."""

from __future__ import annotations

from msgspec import Struct
from textual.content import Content
from textual.widget import Widget

from quintet.domain.base.safe_text import brief
from quintet.domain.journal.turn_state import TurnState
from quintet.surfaces.tui.transcript.rows import clean, fitted

MOST_ROWS = 4
CHANGING = "Enter saves the change · Ctrl+X removes it · Esc cancels"
HELD = "held: /queued run starts them · Up edits or removes one"


class QueuedInput(Struct, frozen=True):
    submission: str
    text: str
    held: bool
    order: str = ""  # a command that is queued: it can be dropped, not changed


def queued_inputs(turns: TurnState) -> tuple[QueuedInput, ...]:
    return tuple(
        QueuedInput(one.submission, one.text, one.submission in turns.held, one.order.kind if one.order else "")
        for one in turns.waiting
    )


class QueueView(Widget):
    DEFAULT_CSS = """
    QueueView {
        height: auto;
        display: none;
        padding: 0 1;
        &.-open { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="queued")
        self.inputs: tuple[QueuedInput, ...] = ()
        self.chosen = ""  # the submission of the one that is being changed

    def show(self, inputs: tuple[QueuedInput, ...], chosen: str) -> None:
        self.inputs, self.chosen = inputs, chosen
        self.set_class(bool(inputs), "-open")
        self.refresh(layout=True)

    def rows(self) -> list[tuple[str, str]]:
        """The lines and their styles."""
        at = next((at for at, one in enumerate(self.inputs) if one.submission == self.chosen), 0)
        first = max(0, at - MOST_ROWS + 1)
        shown = self.inputs[first : first + MOST_ROWS]
        rows = [self._row(number, one) for number, one in enumerate(shown, first + 1)]
        if more := len(self.inputs) - len(shown):
            rows.append((f"  … {more} more", "dim"))
        if self.chosen:
            rows.append((f"  {CHANGING}", "dim"))
        elif any(one.held for one in self.inputs):
            rows.append((f"  {HELD}", "dim"))
        return rows

    def _row(self, number: int, one: QueuedInput) -> tuple[str, str]:
        words = brief(one.text) or f"/{one.order}"
        chosen = one.submission == self.chosen
        return f"{'›' if chosen else ' '} {number}  {'held  ' if one.held else ''}{words}", "" if chosen else "dim"

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self.rows())

    def render(self) -> Content:
        width = self.content_size.width
        return Content("\n").join([Content.styled(fitted(clean(words), width), how) for words, how in self.rows()])
