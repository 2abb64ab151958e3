"""The board of tasks, over everything else: what is under way, what waits for you, what can be resumed.

It looks again every second while it is open. Enter opens the entry: answers a question, goes over to a session, shows
a task, watches a shell. What closes it is what was chosen; p, t and x act on the entry and leave it open, and what
cannot be taken back is asked first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from quintet.domain.base.errors import QuintetError
from quintet.domain.journal.protocol import Choice
from quintet.domain.tasks.board import BoardEntry, BoardKind, BoardView, cost_words, last_lines
from quintet.surfaces.tui.chrome.themes import style
from quintet.surfaces.tui.dialogs.ask import AskScreen
from quintet.surfaces.tui.dialogs.picker import aligned
from quintet.surfaces.tui.transcript.rows import clean, fitted

SECONDS = 1.0
EMPTY = "nothing is running or open: no tasks, questions, shells or other sessions"
_COLOURS = {"info": "$primary", **{role: f"${role}" for role in ("success", "warning", "error", "accent")}}
KEYS = (  # the longest that fits
    "Enter opens · p pause · t todo · x ends · Esc closes",
    "Enter opens · p pause · t todo · x ends · Esc",
    "Enter · p · t · x · Esc",
)
WATCHED_LINES = 500  # of what a shell printed, the last
WATCH_SECONDS = 0.5
NOTHING_PRINTED = "no output yet"
SURE = (Choice("y", "yes"), Choice("n", "no"))


class TaskBoard(ModalScreen[str]):
    """Dismissed with a line to enter, `question` to answer one, `session ID` to go over, or nothing."""

    DEFAULT_CSS = """
    TaskBoard { align: center middle; }
    TaskBoard > Vertical { width: 96%; height: auto; max-height: 90%; border: round $accent; padding: 0 1;
                           background: $surface; }
    TaskBoard OptionList { height: auto; max-height: 100%; border: none; padding: 0; background: $surface; }
    TaskBoard OptionList:focus { border: none; background-tint: $foreground 0%; }
    TaskBoard #below { height: auto; }
    TaskBoard #said { height: auto; display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+t,f7", "leave", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        Binding("p", "task('paused')", show=False),
        Binding("t", "task('todo')", show=False),
        Binding("x", "end", show=False),
    ]

    def __init__(
        self,
        look: Callable[[], Awaitable[BoardView]],
        carry_out: Callable[[str], Awaitable[str]],
        printed: Callable[[str], str],
        theme_name: str,
    ) -> None:
        super().__init__()
        self._look = look
        self._carry_out = carry_out  # a command, while the board stays open
        self._printed = printed  # by a shell
        self._theme_name = theme_name
        self._shown: BoardView | None = None
        self._lines: list[tuple[str, str, str]] = []  # of each entry: mark, its colour, the rest
        self._highlighted = 0

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "tasks"
            yield OptionList(compact=True)
            yield Static(id="below")
            yield Static(id="said", markup=False)

    async def on_mount(self) -> None:
        await self.refresh_board()
        self.set_interval(SECONDS, self.refresh_board)
        self.query_one(OptionList).focus()

    async def on_resize(self) -> None:
        self._shown = None  # its rows are cut to the width
        room = self.app.size.width * 96 // 100 - 6
        self.query_one(Vertical).border_subtitle = next((keys for keys in KEYS if len(keys) <= room), KEYS[-1])
        await self.refresh_board()

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
        below = [f"cost {cost_words(shown.costs)}"] if shown.costs else []
        below += [f"last checkpoint {shown.checkpoint}"] if shown.checkpoint else []
        below += [f"next: {shown.next_action}"] if shown.next_action else []
        foot = self.query_one("#below", Static)
        foot.display = bool(below)
        foot.update(Text(" · ".join(below), style(self._theme_name, "dim")))

    def _options(self, entries: Sequence[BoardEntry]) -> list[Option]:
        self._lines = []
        if not entries:
            return [Option(Text(EMPTY, style(self._theme_name, "dim")), disabled=True)]
        width = max(self.app.size.width * 96 // 100 - 6, 10)  # the box less its border, its padding and the mark
        left = max(width // 2, width - 2 - max(cell_len(clean(entry.about)) for entry in entries))
        lines = aligned([(fitted(clean(entry.text), left), entry.about) for entry in entries], width)
        self._lines = [
            (entry.mark, _COLOURS.get(entry.role, ""), f" {line}") for entry, line in zip(entries, lines, strict=True)
        ]
        return [Option(row(mark, colour, line)) for mark, colour, line in self._lines]

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The mark of the highlighted entry has the colour of its row: its own may not be seen there."""
        event.stop()
        at, before, self._highlighted = event.option_index, self._highlighted, event.option_index
        for index in {at, before}:
            if index < len(self._lines):
                mark, colour, line = self._lines[index]
                event.option_list.replace_option_prompt_at_index(index, row(mark, colour if index != at else "", line))

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
            case BoardKind.SHELL:
                self.app.push_screen(ShellScreen(entry.id, entry.about, self._printed), self._left_shell)

    def action_move(self, by: int) -> None:
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_task(self, status: str) -> None:
        entry = self._entry
        if entry and entry.kind is BoardKind.TASK and entry.id:
            self._do(f"/tasks move {entry.id} {status}")

    def action_end(self) -> None:
        """Cancel a task or end a shell, once that is confirmed: neither can be taken back."""
        entry = self._entry
        if entry is None or not entry.id:
            return
        if entry.kind is BoardKind.TASK:
            self._ask(f"Cancel {entry.text}?", f"/tasks move {entry.id} cancelled")
        elif entry.kind is BoardKind.SHELL:
            self._ask(f"End {entry.text}?\n{entry.about}", f"/tasks end {entry.id}")

    def _left_shell(self, name: str | None) -> None:
        if name:
            self._ask(f"End shell {name}?", f"/tasks end {name}")

    def _ask(self, question: str, line: str) -> None:
        def answered(choice: str | None) -> None:
            if choice == "y":
                self._do(line)

        self.app.push_screen(AskScreen("sure?", question, SURE), answered)

    def _do(self, line: str) -> None:
        async def done() -> None:
            said = await self._carry_out(line)
            if self.is_attached:
                foot = self.query_one("#said", Static)
                foot.update(Text(clean(said), style(self._theme_name, "info")))
                foot.display = bool(said)
                await self.refresh_board()

        self.run_worker(done(), exit_on_error=False)

    def action_leave(self) -> None:
        self.dismiss("")

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss("")


def row(mark: str, colour: str, line: str) -> Content:
    return Content.assemble((mark, colour), line)


class ShellScreen(ModalScreen[str]):
    """What a background shell prints, as it comes; dismissed with its name if it is to be ended."""

    DEFAULT_CSS = """
    ShellScreen { align: center middle; }
    ShellScreen > Vertical { width: 96%; height: 90%; border: round $accent; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "leave", show=False),
        Binding("x", "end", show=False),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
    ]

    def __init__(self, name: str, line: str, printed: Callable[[str], str]) -> None:
        super().__init__()
        self._shell = name
        self._line = line
        self._printed = printed
        self._shown: list[str] | None = None

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = f"shell {self._shell}   {clean(self._line)}"
            box.border_subtitle = "x ends it · Esc: back"
            with VerticalScroll(can_focus=False):
                yield Static(id="printed", markup=False)

    def on_mount(self) -> None:
        self.look()
        self.set_interval(WATCH_SECONDS, self.look)

    def look(self) -> None:
        try:
            lines = last_lines(self._printed(self._shell), WATCHED_LINES)
        except QuintetError as error:
            lines = [str(error)]
        if lines != self._shown:
            scroll = self.query_one(VerticalScroll)
            at_end = self._shown is None or scroll.scroll_y >= scroll.max_scroll_y - 1
            self._shown = lines
            self.query_one("#printed", Static).update(Text("\n".join(map(clean, lines)) or NOTHING_PRINTED))
            if at_end:
                self.call_after_refresh(scroll.scroll_end, animate=False)

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_end(self) -> None:
        self.dismiss(self._shell)

    def action_leave(self) -> None:
        self.dismiss("")
