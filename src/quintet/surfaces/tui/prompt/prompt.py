"""The prompt: what you type, with files, commands and menus offered above it, until it is submitted.

It posts `Prompt.Submitted` and is empty then; `give_back` puts a text that could not be submitted into it again. What
was typed and not submitted is kept as a draft and there again at the next start.
"""

from __future__ import annotations

import asyncio

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static, TextArea

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import visible
from quintet.domain.input.prompt import Recall
from quintet.domain.input.provenance import NOT_TYPED, Provenance, TextSource
from quintet.domain.ports.prompt import PromptSources
from quintet.engine.session.session import Session
from quintet.surfaces.tui.prompt.completions import Completions
from quintet.surfaces.tui.prompt.popup import Popup
from quintet.surfaces.tui.prompt.prompt_area import PromptArea
from quintet.surfaces.tui.prompt.queue_view import QueuedInput, QueueView

DRAFT_SECONDS = 1.0
MARK, COMMANDS_MARK = "›", "N"  # the last in the normal mode of vi


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

    class QueuedGone(Message):
        """The queued input that was being changed has begun, or was dropped elsewhere."""

    def __init__(self, session: Session, at_hand: PromptSources | None = None) -> None:
        super().__init__(id="prompt")
        self._session = session
        self._at_hand = at_hand
        chosen = session.settings.prompt
        self._popup = Popup()
        self._area = PromptArea(
            self._takes_key,
            self._submit,
            enter_submits=chosen.enter == "submit",
            rapid=chosen.rapid_paste,
            vi=chosen.keys == "vi",
        )
        self._queue = QueueView()
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
        yield self._queue
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
        self._choose(None)
        self._put(text, TextSource.PREFILLED)

    def _put(self, text: str, source: TextSource) -> None:
        self._completions.quiet(text)
        self._area.put(text, source)

    def give_back(self, text: str, source: TextSource = TextSource.PREFILLED) -> None:
        """Put a text into the prompt, with the cursor at its end."""
        self._put(text, source)
        self.focus()

    def take_focus(self) -> None:
        """The focus at once: the next key is typed here."""
        self.screen.set_focus(self._area)

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
        if self._queue_key(event.key):
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

    # ── what is queued

    def show_queue(self, inputs: tuple[QueuedInput, ...]) -> None:
        """What is queued now. One that is being changed may have begun: its text stays, as a new input."""
        if inputs == self._queue.inputs:
            return
        chosen = self._queue.chosen
        gone = bool(chosen) and not any(one.submission == chosen for one in inputs)
        self._queue.show(inputs, "" if gone else chosen)
        if gone:
            self.post_message(self.QueuedGone())

    def _queue_key(self, key: str) -> bool:
        """Whether a key is for what is queued: Up takes the newest into an empty prompt to change or drop it."""
        chosen = self._chosen
        if chosen is None:
            if key == "up" and not self._area.text and (newest := self._queue.inputs[-1:]):
                self._choose(newest[0])
                return True
            return False
        at = self._queue.inputs.index(chosen)
        match key:
            case "up" if self._area.whole == chosen.text:
                self._choose(self._queue.inputs[max(at - 1, 0)])
            case "down" if self._area.whole == chosen.text:
                self._choose(next(iter(self._queue.inputs[at + 1 :]), None))
            case "up" | "down":
                return False
            case "escape":
                self._choose(None)
            case "ctrl+x":
                self._choose(None)
                self.post_message(self.Submitted(f"/queued drop {chosen.submission}"))
            case _:
                return False
        return True

    @property
    def _chosen(self) -> QueuedInput | None:
        return next((one for one in self._queue.inputs if one.submission == self._queue.chosen), None)

    def _choose(self, chosen: QueuedInput | None) -> None:
        """Take a queued input into the prompt; None puts it back as it is."""
        if chosen or self._queue.chosen:
            self._queue.show(self._queue.inputs, chosen.submission if chosen else "")
            self._put(chosen.text if chosen else "", TextSource.RECALLED)

    def _keep_change(self, chosen: QueuedInput, text: str) -> None:
        self._choose(None)
        if text and text != chosen.text.strip():
            self.post_message(self.Submitted(f"/queued edit {chosen.submission}\n{text}"))

    @on(Popup.Chosen)
    def _clicked(self, event: Popup.Chosen) -> None:
        event.stop()
        self._completions.take(event.index)
        self.focus()
        if self._completions.ready:
            self._submit()

    def _submit(self) -> None:
        text, seen = self._area.whole.strip(), self._area.text
        if chosen := self._chosen:
            self._keep_change(chosen, text)
            return
        if not text and self._completions.agent() is None:  # to an agent, an empty input means: show the menu
            return
        unfolded = self._area.text != self._area.whole  # a paste, though its words may be typed
        provenance = NOT_TYPED if unfolded and self._area.provenance.typed else self._area.provenance
        self._completions.close()
        self._area.begin_anew()
        self._recall.add(text)
        if self._at_hand and text:
            self.run_worker(asyncio.to_thread(self._at_hand.past.add, text), exit_on_error=False)
        self._keep_draft()
        self.post_message(self.Submitted(text, provenance, seen))

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        text = self._area.text
        self.set_class(text.startswith("!"), "-shell")
        self.set_class(text.startswith("/"), "-command")
        self._completions.look()
        if self._drafts:
            if self._draft_timer:
                self._draft_timer.stop()
            self._draft_timer = self.set_timer(DRAFT_SECONDS, self._keep_draft)

    @on(PromptArea.ModeChanged)
    def _show_mark(self) -> None:
        self.query_one(".mark", Static).update(COMMANDS_MARK if self._area.commands else MARK)

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
            self.app.notify(visible(f"{error}. Drafts are not saved."), severity="warning", markup=False)
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
                self.app.notify(visible(f"{error}. Drafts are not saved."), severity="warning", markup=False)

    async def on_unmount(self) -> None:
        if self._draft_timer:
            self._draft_timer.stop()
        await self._kept()
