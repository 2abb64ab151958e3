"""The board of tasks, over everything else: what is under way, what waits for you, what can be resumed.

It looks again every second while it is open. Enter acts on the entry: answers a question, goes over to a session, shows
a task. It is closed with what was chosen; carrying it out is the screen's business.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from quintet.domain.tasks.board import BoardEntry, BoardKind
from quintet.surfaces.tui.chrome.themes import style
from quintet.surfaces.tui.context import BoardView
from quintet.surfaces.tui.dialogs.picker import aligned
from quintet.surfaces.tui.transcript.rows import clean, fitted

SECONDS = 1.0
EMPTY = "nothing is under way: no tasks, questions, shells or other sessions"
_COLOURS = {"info": "$primary", **{role: f"${role}" for role in ("success", "warning", "error", "accent")}}
KEYS = "Enter acts · p pause · t todo · x cancel · Esc closes"


class TaskBoard(ModalScreen[str]):
    """Dismissed with a line to enter, `question` to answer one, `session ID` to go over, or nothing."""

    DEFAULT_CSS = """
    TaskBoard { align: center middle; }
    TaskBoard > Vertical { width: 96%; height: auto; max-height: 90%; border: round $accent; padding: 0 1;
                           background: $surface; }
    TaskBoard OptionList { height: auto; max-height: 100%; border: none; padding: 0; background: $surface; }
    TaskBoard OptionList:focus { border: none; background-tint: $foreground 0%; }
    TaskBoard #below { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+t,f7", "leave", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        Binding("p", "task('paused')", show=False),
        Binding("t", "task('todo')", show=False),
        Binding("x", "task('cancelled')", show=False),
    ]

    def __init__(self, look: Callable[[], Awaitable[BoardView]], theme_name: str) -> None:
        super().__init__()
        self._look = look
        self._theme_name = theme_name
        self._shown: BoardView | None = None

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "tasks"
            box.border_subtitle = KEYS
            yield OptionList(compact=True)
            yield Static(id="below")

    async def on_mount(self) -> None:
        await self.refresh_board()
        self.set_interval(SECONDS, self.refresh_board)
        self.query_one(OptionList).focus()

    async def refresh_board(self) -> None:
        shown = await self._look()
        if shown == self._shown:
            return
        self._shown = shown
        options = self.query_one(OptionList)
        at = options.highlighted
        options.clear_options()
        options.add_options(self._options(shown.entries))
        if shown.entries:
            options.highlighted = min(at or 0, len(shown.entries) - 1)
        box = self.query_one(Vertical)
        box.border_title = "tasks" + (f"   {shown.counts}" if shown.counts else "")
        below = [f"cost {shown.cost}"] if shown.cost else []
        below += [f"last checkpoint {shown.checkpoint}"] if shown.checkpoint else []
        below += [f"next: {shown.next_action}"] if shown.next_action else []
        foot = self.query_one("#below", Static)
        foot.display = bool(below)
        foot.update(Text(" · ".join(below), style(self._theme_name, "dim")))

    def _options(self, entries: Sequence[BoardEntry]) -> list[Option]:
        if not entries:
            return [Option(Text(EMPTY, style(self._theme_name, "dim")), disabled=True)]
        width = max(self.app.size.width * 96 // 100 - 6, 10)  # the box less its border, its padding and the mark
        lines = aligned([(fitted(clean(entry.text), width // 2), entry.about) for entry in entries], width)
        return [
            Option(Content.assemble((entry.mark, _COLOURS.get(entry.role, "")), f" {line}"))
            for entry, line in zip(entries, lines, strict=True)
        ]

    @property
    def _entry(self) -> BoardEntry | None:
        at = self.query_one(OptionList).highlighted
        entries = self._shown.entries if self._shown else ()
        return entries[at] if at is not None and at < len(entries) else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        entry = self._entry
        if entry is None:
            return
        match entry.kind:
            case BoardKind.QUESTION:
                self.dismiss("question")
            case BoardKind.SESSION:
                self.dismiss(f"session {entry.id}")
            case BoardKind.TASK if entry.id:
                self.dismiss(f"/tasks show {entry.id}")
            case BoardKind.TASK:
                self.dismiss("/tasks done failed")

    def action_move(self, by: int) -> None:
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_task(self, status: str) -> None:
        entry = self._entry
        if entry and entry.kind is BoardKind.TASK and entry.id:
            self.dismiss(f"/tasks move {entry.id} {status}")

    def action_leave(self) -> None:
        self.dismiss("")

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss("")
