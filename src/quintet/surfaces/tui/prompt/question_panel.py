"""The question that a session waits for, between transcript and prompt: what is asked, why, and the choices.

It shows whatever choices a question has. An approval also shows what the gate decided on, takes a no with a reason, and
unfolds its details: all of what is asked about, to be scrolled to its end. A key that has no meaning here belongs to
the prompt, and so do the keys that follow it at once and those pressed while the panel was appearing: none of them
counts as an answer.
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
from quintet.domain.base.wording import counted
from quintet.domain.journal import protocol as p
from quintet.domain.permission.answers import FEEDBACK, LASTING, NO, TURNING
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.question import WIDTH, split_detail
from quintet.surfaces.tui.chrome.themes import style
from quintet.surfaces.tui.transcript.rows import (
    MOST_CHARACTERS,
    Row,
    Span,
    clean,
    fitted,
    side_by_side,
    wrap,
    wrap_anywhere,
)

GUARD_SECONDS = 0.4
BORDERS = 2
HEAD_ROWS = 2  # of the screen, above what shares it; the style says 70% of the rest
LEFT_OUT = ("Dials", "Always", "Session")  # in this order, where there is no room: header and choices say it too
JOINED = ("Effects", "Access")  # in one row, where they fit
LEAST_ROWS = 2  # of the text that is asked about
MOST_OWN_ROWS = 3  # of one line of Quintet's own, which may quote a model
CHOSEN_FIRST = LASTING | TURNING  # a key chooses, Enter takes: what lasts is not to begin a typed word
_NEVER_ALWAYS = frozenset({Effect.OUTSIDE, Effect.PUBLISH})
_DIFF = {"+ ": "success", "- ": "error"}
REASON = "What should it do instead? Enter sends it, Esc: back"
TYPED = "Your answer. Enter sends it, Esc: back"
_LABEL = re.compile(r"[+ -] +\d+  |[+-] |\S+( \S+)?  +")  # the later rows of a long line are indented by it
_GAP = "  "
MOST_BY_WORDS = 4_000  # characters of a line that is broken between words
WHEEL_ROWS = 3
PIECE = MOST_CHARACTERS


class QuestionPanel(Vertical, can_focus=True):
    DEFAULT_CSS = """
    QuestionPanel { height: auto; max-height: 70%; border: round $warning; padding: 0 1; display: none; }
    QuestionPanel.-whole { height: 1fr; max-height: 100%; }
    QuestionPanel:focus-within, QuestionPanel:focus { border: round $accent; }
    QuestionPanel > #detail { height: auto; }
    QuestionPanel > Input { display: none; border: none; height: 1; padding: 0; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "choose(-1)", show=False),
        Binding("right", "choose(1)", show=False),
        Binding("up", "line(-1)", show=False),
        Binding("down", "line(1)", show=False),
        Binding("home", "edge(False)", show=False),
        Binding("end", "edge(True)", show=False),
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
        self._all: tuple[int, list[Row]] = (0, [])  # for a width, the rows of all details
        self._top = self._page = 0  # the first row of them that is in view, and how many are
        self._chosen = -1  # none, so that Enter alone answers nothing
        self._since = 0.0
        self._answering = NO  # the choice that what is typed belongs to

    def compose(self) -> ComposeResult:
        yield Static(id="detail")
        yield Input(placeholder=REASON, id="reason", compact=True)
        yield Static(id="choices")

    def ask(self, asked: p.QuestionAsked, decided: Sequence[p.CallDecided], takes_keys: bool) -> None:
        self.asked, self._decided = asked, decided
        self._whole, self._chosen, self._since = False, -1, time.monotonic()
        self._all, self._top = (0, []), 0
        self.query_one(Input).display = False
        self._show(True)
        if takes_keys:
            self.screen.set_focus(self)  # at once: what is drawn says where the next key goes
        self.draw()

    def close(self) -> None:
        self.asked = None
        self._show(False)

    def _show(self, shown: bool) -> None:
        self.display = shown
        self.screen.set_class(shown, "-asked")  # its border replaces the rule above the prompt
        if not shown:
            self._take_screen(False)

    def _take_screen(self, taken: bool) -> None:
        """Have all the room that the transcript has, or give it back."""
        self.set_class(taken, "-whole")
        self.screen.set_class(taken, "-details")

    @property
    def _approval(self) -> bool:
        return self.asked is not None and self.asked.kind == "approve"

    # ── drawing

    def draw(self) -> None:
        if self.asked is None:
            return
        self.border_title = Text(clean(exactly(self.asked.text.partition("\n")[0])), style(self.theme_name, "bold"))
        width = self.content_size.width or max(self.screen.size.width - BORDERS, 1)  # none before it is laid out
        self._more = True
        choices = self._choices(width)
        most = max((self.screen.size.height - HEAD_ROWS) * 7 // 10 - len(choices) - BORDERS, LEAST_ROWS)
        if self._whole:
            long = len(self._details(width)) > most
            if long and self.has_class("-whole"):  # else it is drawn again once it has its new size
                most = self.content_size.height - len(choices) - int(self.query_one(Input).display)
            self._take_screen(long)
            rows = self._window(width, max(most, LEAST_ROWS))
        else:
            self._take_screen(False)
            rows = self._folded(width, most)
            if not self._more:
                choices = self._choices(width)
        detail = self.query_one("#detail", Static)
        detail.display = bool(rows)
        detail.update(self._text(rows))
        self.query_one("#choices", Static).update(self._text(choices))

    def _folded(self, width: int, most: int) -> list[Row]:
        """As much as there is room for, and how much is left out; the choices stay visible."""
        own, rest = self._lines()
        need = 0  # rows of the text that is asked about, as far as they matter
        for text, role in rest:
            need += len(wrapped((text[: (most + 1) * width], role), width)) if need <= most else 0
        rows, cut = self._own_rows(own, width, most - max(need, LEAST_ROWS + 1))
        room = max(most - len(rows), LEAST_ROWS)
        written: list[Row] = []
        ends: list[int] = []  # of each line, the row behind it
        for text, role in rest:
            written += wrapped((text[: (room + 1) * width], role), width)  # a row takes `width` characters at most
            ends.append(len(written))
            if ends[-1] > room:
                break
        if ends and (len(ends) < len(rest) or ends[-1] > room):
            whole = sum(end < room for end in ends)  # one row counts the others
            begun = ([0, *ends])[whole] < room - 1
            written = [*written[: room - 1], ((self._left_out(len(rest) - whole, begun), "dim"),)]
            cut = True
        self._more = cut or bool(self._decided)
        return [*rows, *written]

    def _left_out(self, hidden: int, begun: bool) -> str:
        more = "[d]" if self._approval else "Space"
        if begun and hidden == 1:
            return f"… the rest of this line · {more} shows it"
        return f"… {counted(hidden, 'more line')} · {more} shows {'it' if hidden == 1 else 'them'}"

    def _details(self, width: int) -> list[Row]:
        if self._all[0] != width:
            own, rest = self._lines()
            self._all = width, [row for line in (*own, *rest) for row in wrapped(line, width)]
        return self._all[1]

    def _window(self, width: int, most: int) -> list[Row]:
        """The part of all details that is in view, and where it is."""
        rows = self._details(width)
        if len(rows) <= most:
            self._top, self._page = 0, len(rows)
            return rows
        self._page = max(most - 1, 1)
        self._top = max(0, min(self._top, len(rows) - self._page))
        last = self._top + self._page
        place = f"rows {self._top + 1}–{last} of {len(rows)} · ↑ ↓ PageUp PageDown Home End"
        return [*rows[self._top : last], ((fitted(place, width), "dim"),)]

    @property
    def scrolls(self) -> bool:
        """Whether there is more than is in view, and the keys that scroll are for it."""
        inside = self.has_focus or self.query_one(Input).has_focus
        return self.asked is not None and self._whole and inside and self._page < len(self._all[1])

    def scroll_details(self, by: int) -> None:
        self._top += by
        self.draw()

    @property
    def page(self) -> int:
        return max(self._page - 1, 1)

    def _own_rows(self, own: list[tuple[str, str]], width: int, most: int) -> tuple[list[Row], bool]:
        """What Quintet says of it, and whether some is left out: on a small screen what stands elsewhere too."""
        kept = own
        for label in (None, *LEFT_OUT):
            kept = [line for line in kept if label is None or not line[0].startswith(f"{label} ")]
            made = [self._rows(line, width, MOST_OWN_ROWS) for line in (_joined(kept, width) if label else kept)]
            rows = [row for some, _ in made for row in some]
            if len(rows) <= most:
                break
        return rows, len(kept) < len(own) or any(cut for _, cut in made)

    def _rows(self, line: tuple[str, str], width: int, most: int) -> tuple[list[Row], bool]:
        """A line of Quintet's own as rows, the later ones behind its label; whether it was cut to `most` of them."""
        label = _LABEL.match(line[0])
        made = wrapped((line[0][: (most + 1) * width], line[1]), width)  # a row takes `width` characters at most
        if len(made) <= most:
            return made, False
        last: Row = ((f"{' ' * (label.end() if label else 0)}…", line[1]),)
        return [*made[: most - 1], last], True

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
        own = [(shown(line), "") for line in said]
        more = self.asked.text.partition("\n")[2]
        rest = [(shown(exactly(line)), "") for line in more.split("\n")] if more else []
        rest += [(shown(line), _DIFF.get(line[:2], "")) for line in written]
        if self._whole:
            rest += [(f"{'Arguments':<{WIDTH}}{shown(exactly(decided.arguments))}", "dim") for decided in self._decided]
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
            items.append([("Enter selects", "dim")])
        if self.screen.focused not in (self, self.query_one(Input)):
            items.append([("Tab or F8 to answer", "dim")])
        return side_by_side(items, width, "   ")

    # ── keys

    def action_line(self, by: int) -> None:
        if self.scrolls:
            self.scroll_details(by)
        else:
            self.action_choose(by)

    def action_edge(self, end: bool) -> None:
        if self.scrolls:
            self.scroll_details(len(self._all[1]) if end else -len(self._all[1]))

    def on_mouse_scroll_down(self) -> None:
        self.scroll_details(WHEEL_ROWS)

    def on_mouse_scroll_up(self) -> None:
        self.scroll_details(-WHEEL_ROWS)

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
        if self._takes_text(key):
            self._reason(True, key)
        elif (number := self._selected_first(key)) is not None:
            self._chosen = number
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

    def _selected_first(self, key: str) -> int | None:
        """The place of a choice that its key only selects: one that lasts, turns a dial, or widens a profile."""
        for number, choice in enumerate(self.asked.choices if self.asked else ()):
            if choice.key == key and (choice.only_selects is True or (self._approval and key in CHOSEN_FIRST)):
                return number
        return None

    def action_choose(self, by: int) -> None:
        if self.asked:
            self._chosen = max(0, min(self._chosen + by, len(self.asked.choices) - 1)) if self._chosen >= 0 else 0
            self.draw()

    def action_take(self) -> None:
        if self.asked and 0 <= self._chosen < len(self.asked.choices):
            key = self.asked.choices[self._chosen].key
            if self._takes_text(key):
                self._reason(True, key)
            else:
                self._answer(key)

    def _takes_text(self, key: str) -> bool:
        """Whether a choice is answered with words: a no with a reason, or what a form asks for."""
        if self._approval and key == FEEDBACK:
            return True
        return self.asked is not None and any(one.key == key and one.takes_text is True for one in self.asked.choices)

    def _reason(self, wanted: bool, key: str = "") -> None:
        reason = self.query_one(Input)
        reason.display = wanted
        self._answering = key if wanted and not (self._approval and key == FEEDBACK) else NO
        reason.placeholder = REASON if self._answering == NO else TYPED
        if wanted:
            reason.value = ""
            reason.focus()
        else:
            self.focus()

    @on(Input.Submitted)
    def _reasoned(self, event: Input.Submitted) -> None:
        event.stop()
        self._answer(self._answering, event.value)

    def _answer(self, choice: str, note: str = "") -> None:
        if self.asked:
            self.post_message(self.Answered(self.asked.question, choice, note))


def _joined(lines: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """The lines, those about effects and access as one where that fits in a row."""
    found = [line for label in JOINED for line in lines if line[0].startswith(f"{label} ")]
    text = (
        " · ".join((found[0][0], *(f"{line[0].split()[0]}: {line[0][WIDTH:]}" for line in found[1:]))) if found else ""
    )
    if len(found) < len(JOINED) or len(text) > width:
        return lines
    return [*(line for line in lines if line not in found), (text, found[0][1])]


def shown(line: str) -> str:
    """One line as it may be shown, however long it is: nothing of what is asked about is left out."""
    return "".join(clean(line[at : at + PIECE]) for at in range(0, len(line), PIECE))


def wrapped(line: tuple[str, str], width: int) -> list[Row]:
    """A line as rows, the later ones behind its label. One with a gap in it breaks anywhere: no space of it is lost."""
    label = _LABEL.match(line[0])
    indent = label.end() if label else 0
    if len(line[0]) <= MOST_BY_WORDS and _GAP not in line[0][indent:].strip():
        return wrap([line], width, " " * indent)
    return wrap_anywhere(line, width, " " * indent)
