"""The text of the prompt: which keys submit, which insert a newline, what a paste becomes, and where it all came from.

Keys go first to the popup and the history. Only what a key puts in counts as typed; whatever else changes the text is
not, without having to say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from time import monotonic

from textual import events
from textual.binding import Binding
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from quintet.domain.input.editing import KillRing, continued
from quintet.domain.input.prompt import SEND_SECONDS, Pastes, RapidKeys, cleaned, is_one_line
from quintet.domain.input.provenance import ALL_TYPED, Provenance, TextSource
from quintet.domain.input.vi import ViDeed, ViKeys, ViMove
from quintet.surfaces.tui.key_codes import Burst

NEWLINE_KEYS = ("shift+enter", "alt+enter", "ctrl+j")
SUBMIT_KEYS = ("ctrl+enter",)
LINE_KEYS = ("enter", "tab", "ctrl+j")  # which a paste is full of
OTHERS = frozenset(  # actions of a text area whose keys belong to the screen, or are others here
    {
        "cursor_page_up",
        "cursor_page_down",
        "copy",
        "select_line",
        "select_all",
        "delete_right",
        "undo",
        "redo",
    }
)
LATE_SECONDS = 0.25  # a timer that is later than this was held up together with all else
KILL, YANK = "kill", "yank"  # what a key may have done, as far as the next one asks


class PromptArea(TextArea, inherit_bindings=False):
    DEFAULT_CSS = """
    PromptArea {
        width: 1fr;
        height: auto;
        min-height: 1;
        max-height: 33vh;
        border: none;
        padding: 0;
        background: $surface;
        &:focus { border: none; }
    }
    """
    BINDINGS = [  # noqa: RUF012
        *(binding for binding in TextArea.BINDINGS if isinstance(binding, Binding) and binding.action not in OTHERS),
        Binding("alt+b,alt+left", "cursor_word_left", "Word left", show=False),
        Binding("alt+f,alt+right", "cursor_word_right", "Word right", show=False),
        Binding("alt+d,ctrl+delete", "delete_word_right", "Delete word right", show=False),
        Binding("delete", "delete_right", "Delete right", show=False),
        Binding("super+c", "copy", "Copy", show=False),
        Binding("ctrl+y", "yank", "Yank", show=False),
        Binding("alt+y", "yank_older", "Insert what was deleted before", show=False),
        Binding(
            "ctrl+underscore,ctrl+minus,ctrl+shift+minus,ctrl+shift+underscore,ctrl+slash,super+z",
            "undo",
            "Undo",
            show=False,
        ),
        Binding("ctrl+shift+z,alt+z,super+shift+z", "redo", "Redo", show=False),
    ]

    class ModeChanged(Message):
        """With vi keys: typing, or commands."""

    class LinesPasted(Message):
        """Rapid lines ended in an Enter, which did not send them."""

    def __init__(
        self,
        takes_key: Callable[[events.Key], bool],
        submit: Callable[[], None],
        *,
        enter_submits: bool = True,
        rapid: bool = True,
        vi: bool = False,
    ) -> None:
        self.provenance: Provenance = ALL_TYPED
        self._source = TextSource.PREFILLED  # of what is put in now
        self._speed = RapidKeys()  # also where the terminal marks pastes: not every paste is one of the terminal's
        super().__init__(compact=True, highlight_cursor_line=False, tab_behavior="focus", soft_wrap=True)
        self.cursor_blink = False  # an idle screen is not painted
        self.pastes = Pastes()
        self._takes_key = takes_key  # whether the popup or the history takes a key
        self._submit = submit  # called at once: later keys belong to the next input
        self._submits = ("enter", *SUBMIT_KEYS) if enter_submits else ("ctrl+d", *SUBMIT_KEYS)
        self._rapid = rapid  # whether an Enter among rapid keys is a line's end
        self._rapid_end: Timer | None = None  # runs from an Enter among rapid keys until nothing has followed it
        self._rapid_due = 0.0  # when it ends
        self._kills = KillRing()
        self._killing: bool | None = None  # what is deleted now is killed; whether it is before the cursor
        self._did = self._does = ""  # the key before, and this one
        self._yanked = ((0, 0), (0, 0))  # where the text of the last yank is
        self._vi = ViKeys() if vi else None
        self.commands = False  # with vi keys: whether a key is a command, and not typed

    def render_lines(self, crop: Region) -> list[Strip]:
        """On a busy machine a screen may be drawn before the styles of what was just mounted are there."""
        if not self._component_styles:
            return [Strip.blank(crop.width)] * crop.height
        return super().render_lines(crop)

    # ── keys

    async def _on_key(self, event: events.Key) -> None:
        self._goes_on()
        self._did, self._does = self._does, ""
        if self._did != KILL:
            self._kills.other()
        fast = (event.is_printable or event.key in LINE_KEYS) and self._speed.key(event.time)
        with self._from(TextSource.PASTED if fast else TextSource.TYPED):
            await self._key(event, fast)

    async def _key(self, event: events.Key, fast: bool) -> None:
        if self._rapid and fast and event.key in LINE_KEYS:
            self._take(event, "\t" if event.key == "tab" else "\n")
            self._may_end(event.key)
        elif self._vi_key(event) or self._taken(event) or self._continues(event.key):
            _done_with(event)
        elif event.key in self._submits:
            _done_with(event)
            if fast:  # what it ends was too fast to be typed, however short it is
                self.provenance = self.provenance.changed(self.text, TextSource.PASTED)
            self._submit()
        elif event.key in NEWLINE_KEYS:
            self._take(event, "\n")
        else:
            await super()._on_key(event)

    def _taken(self, event: events.Key) -> bool:
        with self._from(TextSource.PREFILLED):  # a completion is not typed
            return self._takes_key(event)

    def _take(self, event: events.Key, text: str) -> None:
        _done_with(event)
        self._replace_via_keyboard(text, *self.selection)
        self.scroll_cursor_visible()

    # ── an Enter behind rapid keys

    def _may_end(self, key: str) -> None:
        """A rapid Enter was put in as a line's end: if nothing follows, it was meant to send."""
        if key == "enter" and key in self._submits:
            self._wait_for_more()

    def _wait_for_more(self) -> None:
        self._rapid_due = monotonic() + SEND_SECONDS
        self._rapid_end = self.set_timer(SEND_SECONDS, self._look_behind)

    def _goes_on(self) -> None:
        if self._rapid_end:
            self._rapid_end.stop()
            self._rapid_end = None

    def _look_behind(self) -> None:
        """On a busy machine more may have been read and not have come here yet: it is let past first.

        After a standstill (the machine's, or the program was suspended) more may not even have been read.
        """
        if monotonic() - self._rapid_due > LATE_SECONDS:
            self._wait_for_more()
            return
        timer = self._rapid_end
        self.app.call_later(self.call_later, self._end_rapid, timer)

    def _end_rapid(self, timer: Timer | None) -> None:
        if timer is None or timer is not self._rapid_end:
            return
        self._rapid_end = None
        if is_one_line(self.text) and self.cursor_location == self.document.end and not self._speed.behind_mark:
            self._submit()
        elif self.text.strip():
            self.post_message(self.LinesPasted())

    def _continues(self, key: str) -> bool:
        """Whether Enter comes behind a backslash at the end of a line: then it is continued, not submitted."""
        if key != "enter" or key not in self._submits:
            return False
        row, column = self.cursor_location
        line = self.document[row]
        longer = continued(line, shell=self.text.startswith("!")) if column == len(line) else None
        if longer is not None:
            self._replace_via_keyboard(longer, (row, 0), (row, column))
            self.scroll_cursor_visible()
        return longer is not None

    # ── pastes

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._goes_on()
        if isinstance(event, Burst):
            self._speed.burst(event.time)
            with self._from(TextSource.PASTED):
                self._replace_via_keyboard(cleaned(event.text), *self.selection)
            self.scroll_cursor_visible()
            self._may_end("enter" if event.text.endswith("\r") else "")
        else:
            self._speed.marked(event.time)
            self.paste_text(event.text)

    def action_paste(self) -> None:
        self.paste_text(self.app.clipboard)

    def paste_text(self, text: str) -> None:
        """Put pasted text in, cleaned, and folded if it is long."""
        with self._from(TextSource.PASTED):
            self._replace_via_keyboard(self.pastes.fold(cleaned(text), self.text), *self.selection)
        self.scroll_cursor_visible()

    def action_delete_left(self) -> None:
        row, column = self.cursor_location
        folded = self.pastes.before(self.document[row][:column]) if self.selection.is_empty else ""
        if folded:
            self._delete_via_keyboard((row, column - len(folded)), (row, column))
        else:
            super().action_delete_left()

    # ── kills and yanks

    @contextmanager
    def _kill(self, *, before: bool) -> Iterator[None]:
        self._killing = before
        try:
            yield
        finally:
            self._killing = None

    def _delete_via_keyboard(self, start: tuple[int, int], end: tuple[int, int]) -> EditResult | None:
        done = super()._delete_via_keyboard(start, end)
        if done and self._killing is not None:
            self._kills.kill(done.replaced_text, before=self._killing)
            self._does = KILL
        return done

    def action_delete_word_left(self) -> None:
        with self._kill(before=True):
            super().action_delete_word_left()

    def action_delete_word_right(self) -> None:
        with self._kill(before=False):
            super().action_delete_word_right()

    def action_delete_to_start_of_line(self) -> None:
        with self._kill(before=True):
            super().action_delete_to_start_of_line()

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        with self._kill(before=False):
            await super().action_delete_to_end_of_line_or_delete_line()

    def action_yank(self) -> None:
        self._yank(self._kills.yank(), *self.selection)

    def action_yank_older(self) -> None:
        """In the place of what was yanked just now, what was killed before it."""
        if self._did == YANK:
            self._yank(self._kills.rotate(), *self._yanked)

    def _yank(self, text: str, start: tuple[int, int], end: tuple[int, int]) -> None:
        if not text:
            return
        with self._from(TextSource.RECALLED):
            done = self._replace_via_keyboard(text, *sorted((start, end)))
        if done:
            self._yanked = (min(start, end), done.end_location)
            self._does = YANK
        self.scroll_cursor_visible()

    # ── vi keys

    def _vi_key(self, event: events.Key) -> bool:
        """Whether a key is one of vi's."""
        vi = self._vi
        if vi is None:
            return False
        if not self.commands:
            return self._vi_begins(vi, event)
        if event.key == "escape" and vi.pending:
            vi.forget()
            return True
        if event.key == "ctrl+r":
            return self._vi_press(vi, "\x12")
        if event.is_printable and event.character and (self.text or event.key != "question_mark"):
            return self._vi_press(vi, event.character)
        return False

    def _vi_begins(self, vi: ViKeys, event: events.Key) -> bool:
        """Esc ends typing. With a letter close behind it the terminal writes Alt and the letter."""
        letter = event.key.removeprefix("alt+") if event.key.startswith("alt+") else ""
        if len(letter) != 1 and (event.key != "escape" or self._taken(event)):
            return event.key == "escape"
        row, column = self.cursor_location
        self.move_cursor((row, max(0, column - 1)))
        self._command_mode(True)
        return self._vi_press(vi, letter) if letter else True

    def _vi_press(self, vi: ViKeys, character: str) -> bool:
        row, column = self.cursor_location
        at = sum(len(line) + 1 for line in self.text.split("\n")[:row]) + column
        move = vi.key(character, self.text, at)
        match move.deed:
            case ViDeed.UNDO:
                self.undo()
            case ViDeed.REDO:
                self.redo()
            case ViDeed.OLDER:
                self._taken(events.Key("up", None))
            case ViDeed.NEWER:
                self._taken(events.Key("down", None))
            case _:
                self._show_move(move)
        return True

    def _show_move(self, move: ViMove) -> None:
        before = self.text
        if move.text != before:
            same = _alike(before, move.text)
            behind = min(_alike(before[::-1], move.text[::-1]), min(len(before), len(move.text)) - same)
            with self._from(TextSource.RECALLED if move.put else TextSource.TYPED):
                self.history.checkpoint()
                start, end = _location(before, same), _location(before, len(before) - behind)
                self._replace_via_keyboard(move.text[same : len(move.text) - behind], start, end)
        self.move_cursor(_location(move.text, move.at))
        self._command_mode(not move.insert)

    def _command_mode(self, on: bool) -> None:
        if on != self.commands:
            self.commands = on
            self.history.checkpoint()
            self.post_message(self.ModeChanged())

    # ── the text

    @property
    def whole(self) -> str:
        """The text with every folded paste in its place."""
        return self.pastes.unfolded(self.text)

    def put(self, text: str, source: TextSource = TextSource.PREFILLED) -> None:
        """Another text, the cursor at its end. Undo brings back what it took the place of."""
        text = cleaned(text)
        if text != self.text:
            self.history.checkpoint()
            self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
            self.history.checkpoint()
        self.provenance = ALL_TYPED.changed(self.text, source)
        self.move_cursor(self.document.end)

    def begin_anew(self) -> None:
        """Empty, with nothing to undo: what was there has been submitted."""
        self._kills.rewrite(self.pastes.unfolded)
        self.pastes.clear()
        self.load_text("")
        if self._vi:
            self._vi.forget()
            self._command_mode(False)

    # ── where the text came from

    @contextmanager
    def _from(self, source: TextSource) -> Iterator[None]:
        """What is put in meanwhile is from a source."""
        before, self._source = self._source, source
        try:
            yield
        finally:
            self._source = before

    def edit(self, edit: Edit) -> EditResult:
        result = super().edit(edit)
        self.provenance = self.provenance.changed(self.text, self._source if edit.text else TextSource.TYPED)
        return result

    def load_text(self, text: str) -> None:
        super().load_text(text)
        self.provenance = ALL_TYPED.changed(text, TextSource.PREFILLED)

    def undo(self) -> None:
        super().undo()
        self.provenance = self.provenance.changed(self.text, TextSource.RECALLED)

    def redo(self) -> None:
        super().redo()
        self.provenance = self.provenance.changed(self.text, TextSource.RECALLED)


def _done_with(event: events.Key) -> None:
    event.stop()
    event.prevent_default()


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _location(text: str, at: int) -> tuple[int, int]:
    """The row and column of a place in a text."""
    return text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1
