"""The prompt's text: which keys submit, which begin a line, what a paste becomes, and where the text came from.

Keys go first to the popup and the history, then to the text. Only what a key puts in counts as typed; whatever else
changes the text is not, without having to say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from textual import events
from textual.binding import Binding
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from quintet.domain.input.prompt import Pastes, RapidKeys, cleaned
from quintet.domain.input.provenance import ALL_TYPED, Provenance, TextSource

NEWLINE_KEYS = ("shift+enter", "alt+enter", "ctrl+j")
SUBMIT_KEYS = ("ctrl+enter",)
OTHERS = frozenset(  # actions of a text area whose keys belong to the screen
    {"cursor_page_up", "cursor_page_down", "copy", "select_line", "select_all", "delete_right"}
)


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
        Binding("delete", "delete_right", "Delete right", show=False),
        Binding("super+c", "copy", "Copy", show=False),
    ]

    def __init__(
        self,
        takes_key: Callable[[events.Key], bool],
        submit: Callable[[], None],
        *,
        enter_submits: bool = True,
        rapid: bool = True,
    ) -> None:
        self.provenance: Provenance = ALL_TYPED
        self._source = TextSource.PREFILLED  # of what is put in now
        self._speed = RapidKeys()  # also where the terminal says what is pasted: a paste can pretend to be over
        super().__init__(compact=True, highlight_cursor_line=False, tab_behavior="focus", soft_wrap=True)
        self.cursor_blink = False  # an idle screen is not painted
        self.pastes = Pastes()
        self._takes_key = takes_key  # whether the popup or the history takes a key
        self._submit = submit  # called at once: later keys belong to the next input
        self._submits = ("enter", *SUBMIT_KEYS) if enter_submits else ("ctrl+d", *SUBMIT_KEYS)
        self._rapid: RapidKeys | None = RapidKeys() if rapid else None

    async def _on_key(self, event: events.Key) -> None:
        typed = event.is_printable or event.key in ("enter", "tab", "ctrl+j")
        fast = typed and self._speed.key(event.time)
        with self._from(TextSource.PASTED if fast else TextSource.TYPED):
            await self._key(event, typed)

    async def _key(self, event: events.Key, typed: bool) -> None:
        if self._rapid and typed and self._rapid.key(event.time) and event.key in ("enter", "tab", "ctrl+j"):
            self._take(event, "\t" if event.key == "tab" else "\n")
        elif self._taken(event):
            _done_with(event)
        elif event.key in self._submits:
            _done_with(event)
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

    async def _on_paste(self, event: events.Paste) -> None:
        self._rapid = None  # this terminal reports pastes itself
        event.stop()
        event.prevent_default()
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

    @property
    def whole(self) -> str:
        """The text with every folded paste in its place."""
        return self.pastes.unfolded(self.text)

    def put(self, text: str, source: TextSource = TextSource.PREFILLED) -> None:
        """Another text, the cursor at its end."""
        self.pastes.clear()
        self.load_text(cleaned(text))
        self.provenance = ALL_TYPED.changed(self.text, source)
        self.move_cursor(self.document.end)

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
