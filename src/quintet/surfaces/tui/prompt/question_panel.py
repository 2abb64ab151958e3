"""The question that a session waits for, between transcript and prompt: what is asked, why, and the choices.

It shows whatever choices a question has. An approval also shows what the gate decided on, takes a no with a reason, and
unfolds its details. A key that has no meaning here belongs to the prompt, and so do the keys that follow it at once and
those pressed while the panel was appearing: none of them counts as an answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from quintet.domain.base.safe_text import exactly
from quintet.domain.journal import protocol as p
from quintet.domain.permission.answers import ALWAYS, FEEDBACK, LASTING, NO, TURNING
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.question import labelled, split_detail
from quintet.surfaces.tui.chrome.themes import style
from quintet.surfaces.tui.transcript.rows import Row, Span, clean, side_by_side, wrap

GUARD_SECONDS = 0.4
FEW_LINES = 8  # of detail, until more are wanted
BORDERS = 2
HEAD_ROWS = 2  # of the screen, above what shares it; the style says 70% of the rest
LEFT_OUT = ("Dials", "Always", "Session")  # in this order, where there is no room: header and choices say it too
LEAST_ROWS = 2  # of the text that is asked about
MOST_OWN_ROWS = 3  # of one line of Quintet's own, which may quote a model
CHOSEN_FIRST = (LASTING | TURNING) - {ALWAYS}  # a key chooses, Enter takes: what lasts is not to begin a typed word
_NEVER_ALWAYS = frozenset({Effect.OUTSIDE, Effect.PUBLISH})
_DIFF = {"+ ": "success", "- ": "error"}
_LABEL = re.compile(r"[+-] |\S+( \S+)?  +")  # the later rows of a long line are indented by it


class QuestionPanel(Vertical, can_focus=True):
    DEFAULT_CSS = """
    QuestionPanel { height: auto; max-height: 70%; border: round $warning; padding: 0 1; display: none; }
    QuestionPanel:focus-within, QuestionPanel:focus { border: round $accent; }
    QuestionPanel > #detail { height: auto; max-height: 24; overflow-y: auto; }
    QuestionPanel > Input { display: none; border: none; height: 1; padding: 0; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "choose(-1)", show=False),
        Binding("right,down", "choose(1)", show=False),
        Binding("enter", "take", show=False),
    ]

    class Answered(Message):
        def __init__(self, question: str, choice: str, note: str = "") -> None:
            super().__init__()
            self.question = question
            self.choice = choice
            self.note = note

    def __init__(self, theme_name: str) -> None:
        super().__init__(id="question")
        self.theme_name = theme_name
        self.asked: p.QuestionAsked | None = None
        self._decided: Sequence[p.CallDecided] = ()
        self._whole = False
        self._more = True  # whether there are details that are not in view
        self._chosen = -1  # none, so that Enter alone answers nothing
        self._since = 0.0

    def compose(self) -> ComposeResult:
        yield Static(id="detail")
        yield Input(placeholder="What should it do instead? Enter sends it, Esc: back", id="reason", compact=True)
        yield Static(id="choices")

    def ask(self, asked: p.QuestionAsked, decided: Sequence[p.CallDecided]) -> None:
        self.asked, self._decided = asked, decided
        self._whole, self._chosen, self._since = False, -1, time.monotonic()
        self.query_one(Input).display = False
        self._show(True)
        self.draw()

    def close(self) -> None:
        self.asked = None
        self._show(False)

    def _show(self, shown: bool) -> None:
        self.display = shown
        self.screen.set_class(shown, "-asked")  # its border replaces the rule above the prompt

    @property
    def _approval(self) -> bool:
        return self.asked is not None and self.asked.kind == "approve"

    # ── drawing

    def draw(self) -> None:
        if self.asked is None:
            return
        self.border_title = Text(clean(exactly(self.asked.text.partition("\n")[0])), style(self.theme_name, "bold"))
        own, rest = self._lines()
        width = max(self.content_size.width, 1)
        self._more = True
        choices = self._choices(width)
        most = max((self.screen.size.height - HEAD_ROWS) * 7 // 10 - len(choices) - BORDERS, LEAST_ROWS)
        rows = self._own_rows(own, width, most - LEAST_ROWS - 1)
        cut = rows != [row for line in own for row in wrapped(line, width)]
        least = LEAST_ROWS if len(rows) + LEAST_ROWS < most else 1
        room, hidden = max(min(FEW_LINES, most - 1) - len(rows), least), 0
        for number, line in enumerate(rest):
            made = self._rows(line, width, room)
            cut = cut or made != wrapped(line, width)
            if not self._whole and room < len(made):
                hidden = len(rest) - number
                break
            rows += made
            room -= len(made)
        if hidden:
            more = "[d] shows them" if self._approval else "Space shows them"
            rows.append(((f"… {hidden} more lines · {more}", "dim"),))
        self._more = self._whole or cut or hidden > 0 or bool(self._decided)
        if not self._more:
            choices = self._choices(width)
        detail = self.query_one("#detail", Static)
        detail.display = bool(rows)
        detail.styles.max_height = most  # so that the choices stay visible
        detail.update(self._text(rows))
        self.query_one("#choices", Static).update(self._text(choices))

    def _own_rows(self, own: list[tuple[str, str]], width: int, most: int) -> list[Row]:
        """What Quintet says of it; on a small screen without what stands elsewhere too, until all is wanted."""
        for label in (None, *LEFT_OUT):
            own = [line for line in own if self._whole or label is None or not line[0].startswith(f"{label} ")]
            rows = [row for line in own for row in self._rows(line, width, MOST_OWN_ROWS)]
            if len(rows) <= most:
                break
        return rows

    def _rows(self, line: tuple[str, str], width: int, most: int) -> list[Row]:
        """A line as rows, the later ones behind its label; until all is wanted, not more than `most` of them."""
        label = _LABEL.match(line[0])
        made = wrapped(line, width)
        if self._whole or len(made) <= max(most, 1):
            return made
        cut: Row = ((f"{' ' * (label.end() if label else 0)}…", line[1]),)
        return [*made[: most - 1], cut] if most > 1 else made

    def _text(self, rows: Sequence[Row]) -> Text:
        text = Text(end="", no_wrap=True)
        for number, row in enumerate(rows):
            text.append("\n" if number else "")
            for piece, roles in row:
                text.append(piece, style(self.theme_name, roles))
        return text

    def _lines(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """What Quintet says about it, and the text that is asked about, which a model wrote and may be long."""
        assert self.asked
        said, written = split_detail(self.asked.detail)
        own = [(clean(line), "") for line in said]
        more = self.asked.text.partition("\n")[2]
        rest = [(clean(exactly(line)), "") for line in more.split("\n")] if more else []
        rest += [(clean(line), _DIFF.get(line[:2], "")) for line in written]
        if self._whole:
            rest += [(labelled("Arguments", clean(decided.arguments)), "dim") for decided in self._decided]
        return own, rest

    def _choices(self, width: int) -> list[Row]:
        """The choices side by side, as many in a row as fit."""
        assert self.asked
        choices = [(choice.key, choice.label) for choice in self.asked.choices]
        keys = [key for key, _ in choices]
        if self._approval and NO in keys and FEEDBACK not in keys:  # one that an older version asked
            choices.append((FEEDBACK, "no, with feedback"))
        if self._approval and self._more:
            choices.append(("d", "fewer details" if self._whole else "details"))
        items: list[list[Span]] = []
        for number, (key, label) in enumerate(choices):
            weight = ("accent bold reverse", "bold") if number == self._chosen else ("accent bold", "")
            items.append([(f"[{key}]", weight[0]), (f" {clean(label)}", weight[1])])
        if self._approval and not any(choice.key == "a" for choice in self.asked.choices):
            never = [effect for decided in self._decided for effect in decided.effects if effect in _NEVER_ALWAYS]
            if never:
                items.append([(f"({never[-1]} needs approval each time)", "dim")])
        if self._chosen >= 0 and self.has_focus:
            items.append([("Enter takes it", "dim")])
        if not self.has_focus and not self.query_one(Input).has_focus:
            items.append([("Tab or F8 to answer", "dim")])
        return side_by_side(items, width, "   ")

    # ── keys

    def on_focus(self) -> None:
        self.call_later(self.draw)

    def on_blur(self) -> None:
        self.call_later(self.draw)

    def on_resize(self) -> None:
        self.draw()

    def on_key(self, event: events.Key) -> None:
        if self.asked is None or self.query_one(Input).has_focus:
            if event.key == "escape" and self.query_one(Input).has_focus:
                event.stop()
                self._reason(False)
            return
        if not event.is_printable:
            return
        key = (event.character or "").lower()
        if time.monotonic() - self._since < GUARD_SECONDS:
            key = ""  # probably part of a text that is being typed
        if self._approval and key == FEEDBACK:
            self._reason(True)
        elif self._approval and key in CHOSEN_FIRST and key in (keys := [c.key for c in self.asked.choices]):
            self._chosen = keys.index(key)
            self.draw()
        elif key in {choice.key for choice in self.asked.choices}:
            self._answer(key)
        elif self._more and (key == " " or (self._approval and key == "d")):
            self._whole = not self._whole
            self.draw()
        else:
            self._since, self._chosen = time.monotonic(), -1
            return
        event.stop()

    def action_choose(self, by: int) -> None:
        if self.asked:
            self._chosen = max(0, min(self._chosen + by, len(self.asked.choices) - 1)) if self._chosen >= 0 else 0
            self.draw()

    def action_take(self) -> None:
        if self.asked and 0 <= self._chosen < len(self.asked.choices):
            key = self.asked.choices[self._chosen].key
            if self._approval and key == FEEDBACK:
                self._reason(True)
            else:
                self._answer(key)

    def _reason(self, wanted: bool) -> None:
        reason = self.query_one(Input)
        reason.display = wanted
        if wanted:
            reason.value = ""
            reason.focus()
        else:
            self.focus()

    @on(Input.Submitted)
    def _reasoned(self, event: Input.Submitted) -> None:
        event.stop()
        self._answer(NO, event.value)

    def _answer(self, choice: str, note: str = "") -> None:
        if self.asked:
            self.post_message(self.Answered(self.asked.question, choice, note))


def wrapped(line: tuple[str, str], width: int) -> list[Row]:
    """A line as rows, the later ones behind its label."""
    label = _LABEL.match(line[0])
    return wrap([line], width, " " * (label.end() if label else 0))
