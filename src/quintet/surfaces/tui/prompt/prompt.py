"""The prompt: what you type, with files, commands and menus offered above it, until it is submitted.

It posts `Prompt.Submitted` and is empty then; `give_back` puts a text that could not be submitted into it again. What
was typed and not submitted is kept as a draft and there again at the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Static, TextArea
from textual.widgets.text_area import Edit, EditResult

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import visible
from quintet.domain.input.prompt import Pastes, RapidKeys, Recall, cleaned
from quintet.domain.input.provenance import ALL_TYPED, NOT_TYPED, Provenance, TextSource
from quintet.domain.ports.prompt import PromptSources
from quintet.engine.session.session import Session
from quintet.surfaces.tui.prompt.completions import Completions
from quintet.surfaces.tui.prompt.popup import Popup

DRAFT_SECONDS = 1.0
MARK, SHELL_MARK = "›", "!"
NEWLINE_KEYS = ("shift+enter", "alt+enter", "ctrl+j")
SUBMIT_KEYS = ("ctrl+enter",)
OTHERS = frozenset(  # actions of a text area whose keys belong to the screen
    {"cursor_page_up", "cursor_page_down", "copy", "select_line", "select_all", "delete_right"}
)


class PromptArea(TextArea, inherit_bindings=False):
    """The text: which keys submit, which begin a line, what a paste becomes, and where the text came from.

    Keys go first to the popup and the history. Only what a key puts in counts as typed; whatever else changes the text
    is not, without having to say so.
    """

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

    def render_lines(self, crop: Region) -> list[Strip]:
        """On a busy machine a screen may be drawn before the styles of what was just mounted are there."""
        if not self._component_styles:
            return [Strip.blank(crop.width)] * crop.height
        return super().render_lines(crop)

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


class Prompt(Vertical):
    DEFAULT_CSS = """
    Prompt {
        height: auto;
        & > Horizontal { height: auto; max-height: 33vh; padding: 0 1; background: $surface; }
        & .mark { width: 2; height: 1; color: $accent; background: $surface; }
        &.-shell .mark { color: $warning; text-style: bold; }
        &.-shell PromptArea { color: $warning; }
        &.-command PromptArea { color: $accent; }
    }
    """

    class Submitted(Message):
        def __init__(self, text: str, provenance: Provenance = NOT_TYPED, seen: str = "") -> None:
            super().__init__()
            self.text = text
            self.provenance = provenance
            self.seen = seen  # of it: folded pastes as the words that stand for them

    class SearchWanted(Message):
        """Past inputs are to be searched; `give_back` takes what was chosen."""

        def __init__(self, past: list[str], typed: str) -> None:
            super().__init__()
            self.past = past  # newest first
            self.typed = typed

    class KeysWanted(Message):
        """A question mark was typed into an empty prompt."""

    def __init__(self, session: Session, at_hand: PromptSources | None = None) -> None:
        super().__init__(id="prompt")
        self._session = session
        self._at_hand = at_hand
        chosen = session.settings.prompt
        self._popup = Popup()
        self._area = PromptArea(
            self._takes_key, self._submit, enter_submits=chosen.enter == "submit", rapid=chosen.rapid_paste
        )
        self._completions = Completions(
            self._area, self._area.put, self._popup, session, at_hand.finder if at_hand else None
        )
        self._recall = Recall()
        self._drafts = at_hand.drafts if at_hand else None
        self._draft_timer: Timer | None = None
        self._draft_lock = asyncio.Lock()
        self._draft_kept = ""
        self._prepared = False

    def compose(self) -> ComposeResult:
        yield self._popup
        with Horizontal():
            yield Static(MARK, classes="mark")
            yield self._area

    # ── for the screen

    @property
    def text(self) -> str:
        """What is typed, with folded pastes in full."""
        return self._area.whole

    @text.setter
    def text(self, text: str) -> None:
        self._put(text, TextSource.PREFILLED)

    def _put(self, text: str, source: TextSource) -> None:
        self._completions.quiet(text)
        self._area.put(text, source)

    def give_back(self, text: str, source: TextSource = TextSource.PREFILLED) -> None:
        """Put a text into the prompt, with the cursor at its end."""
        self._put(text, source)
        self.focus()

    def focus(self, scroll_visible: bool = True) -> Prompt:
        self._area.focus(scroll_visible)
        return self

    def begin(self, text: str) -> None:
        """Put the beginning of an input in, as if it were typed, so that completions are offered."""
        self._area.put(text)
        self.focus()

    # ── keys

    def _takes_key(self, event: events.Key) -> bool:
        """Whether a key is not for the text: the popup has it first, then the history."""
        if not self._prepared and self._at_hand:
            self._prepared = True
            self._at_hand.finder.prepare()
        if self._completions.key(event.key):
            if self._completions.ready:
                self._submit()
            return True
        match event.key:
            case "up" if self._area.cursor_at_first_line and self._area.selection.is_empty:
                return self._walk(self._recall.older(self._area.text))
            case "down" if self._area.cursor_at_last_line and self._area.selection.is_empty:
                return self._walk(self._recall.newer())
            case "question_mark" if not self._area.text:
                self.post_message(self.KeysWanted())
                return True
            case "ctrl+r":
                self.post_message(self.SearchWanted(self._recall.past[::-1], self.text))
                return True
        return False

    def _walk(self, text: str | None) -> bool:
        if text is None:
            return False
        self._put(text, TextSource.RECALLED)
        return True

    @on(Popup.Chosen)
    def _clicked(self, event: Popup.Chosen) -> None:
        event.stop()
        self._completions.take(event.index)
        self.focus()
        if self._completions.ready:
            self._submit()

    def _submit(self) -> None:
        text, seen = self._area.whole.strip(), self._area.text
        if not text and self._completions.agent() is None:  # to an agent, an empty input means: show the menu
            return
        unfolded = self._area.text != self._area.whole  # a paste, though its words may be typed
        provenance = NOT_TYPED if unfolded and self._area.provenance.typed else self._area.provenance
        self._completions.close()
        self._area.put("")
        self._recall.add(text)
        if self._at_hand and text:
            self.run_worker(asyncio.to_thread(self._at_hand.past.add, text), exit_on_error=False)
        self._keep_draft()
        self.post_message(self.Submitted(text, provenance, seen))

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        text = self._area.text
        shell = text.startswith("!")
        self.set_class(shell, "-shell")
        self.set_class(text.startswith("/"), "-command")
        self.query_one(".mark", Static).update(SHELL_MARK if shell else MARK)
        self._completions.look()
        if self._drafts:
            if self._draft_timer:
                self._draft_timer.stop()
            self._draft_timer = self.set_timer(DRAFT_SECONDS, self._keep_draft)

    @on(TextArea.SelectionChanged)
    def _moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._completions.look()

    # ── drafts and past inputs

    async def on_mount(self) -> None:
        if self._at_hand:
            self.run_worker(self._bring_back(self._at_hand))

    async def _bring_back(self, at_hand: PromptSources) -> None:
        self._recall.fill(await asyncio.to_thread(at_hand.past.all))
        try:
            draft = await asyncio.to_thread(at_hand.drafts.restore)
        except QuintetError as error:
            self._drafts = None  # a draft that cannot be read is not overwritten
            self.app.notify(visible(f"{error}. Drafts are not kept."), severity="warning", markup=False)
            return
        self._draft_kept = draft
        if draft and not self._area.text:
            self.text = draft

    def _keep_draft(self) -> None:
        if self._drafts:
            self.run_worker(self._kept())

    async def _kept(self) -> None:
        async with self._draft_lock:
            text = self._area.whole
            if not self._drafts or text == self._draft_kept:
                return
            self._draft_kept = text
            try:
                if text.strip():
                    await asyncio.to_thread(self._drafts.save, text)
                else:
                    await asyncio.to_thread(self._drafts.clear)
            except QuintetError as error:
                self._drafts = None
                self.app.notify(visible(f"{error}. Drafts are not kept."), severity="warning", markup=False)

    async def on_unmount(self) -> None:
        if self._draft_timer:
            self._draft_timer.stop()
        await self._kept()


def _done_with(event: events.Key) -> None:
    event.stop()
    event.prevent_default()
