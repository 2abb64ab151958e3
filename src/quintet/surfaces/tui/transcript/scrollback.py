"""The transcript on screen: its rows, drawn line by line, with one live tail.

Only lines in view are drawn, and a drawn line is kept. The transcript may change at any rate; the screen follows
at most twenty times a second. At the end the view follows what comes; scrolled up, it stays.

What has left the transcript is loaded from the journal where the view comes to its first row, and let go at the end
that is far from the view. While what is loaded and the transcript do not meet, the transcript is not shown.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from quintet.surfaces.tui.chrome.themes import style
from quintet.surfaces.tui.transcript.blocks import RowsBlock, ScreenTranscript
from quintet.surfaces.tui.transcript.past_blocks import PastBlocks, Read
from quintet.surfaces.tui.transcript.rows import Row, plain

MOST_ROWS = 5000
SLACK = 500  # rows over that before the oldest are dropped, so that it is not done for each
SECONDS = 0.05  # between two drawings of what streams
KEPT = 4096  # drawn lines
MOST_BACK = 2 * MOST_ROWS  # while earlier rows are looked at
PIECE = 500  # rows that are loaded from the journal at once
EARLIER: Row = (("… earlier rows are in the journal: scroll up to load them", "dim"),)
LATER: Row = (("… later rows are in the journal: scroll down to load them", "dim"),)
MARGIN = 1


class Scrollback(ScrollView, can_focus=True):
    DEFAULT_CSS = """
    Scrollback { height: 1fr; overflow-x: hidden; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    """
    FOCUS_ON_CLICK = False  # who clicks here goes on typing at the prompt
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "the fold above", show=False),
        Binding("down,j", "move(1)", "the fold below", show=False),
        Binding("enter,space", "open_or_close", "fold or unfold", show=False),
        Binding("question_mark", "app.act('keys')", "keys", show=False),
    ]

    class Followed(Message):
        """Whether the view is at the end, or how many rows came since it left it."""

        def __init__(self, behind: int) -> None:
            super().__init__()
            self.behind = behind

    def __init__(self, transcript: ScreenTranscript, theme_name: str) -> None:
        super().__init__(id="scrollback")
        self.transcript = transcript
        self.theme_name = theme_name
        self.following = True
        self.behind = 0  # rows that came since the view left the end
        self.found = ""  # what is searched for, in small letters
        self.found_at = -1  # the row of the match in view
        self._rows: list[Row] = []
        self._blocks: list[RowsBlock] = []  # those that have rows, as the transcript had them then
        self._starts: list[int] = []  # the first row of each
        self._at: RowsBlock | None = None  # the fold that keys act on
        self._drawn: LRUCache[tuple[int, Row | None, str, int], Strip] = LRUCache(KEPT)
        self._cut = False  # the first block has lost its first rows
        self._read: Read | None = None  # from the journal
        self._past: PastBlocks | None = None  # what is shown of it
        self._joined = False  # the transcript follows on it
        self._asked_to_load = False
        self._scheduled = False
        self._laid_out = 0  # the width of the rows

    # ── from the transcript

    def show_transcript(self, transcript: ScreenTranscript, read: Read | None = None) -> None:
        """Another transcript, from its end, and how to read what will leave it."""
        self.transcript, self.following, self.behind = transcript, True, 0
        self._read, self._past = read, None
        self.rebuild()
        self.post_message(self.Followed(0))

    def follow_transcript(self) -> None:
        """Show what has changed, now or in a moment."""
        if not self._scheduled:
            self._scheduled = True
            self.set_timer(SECONDS, self._catch_up)

    def _catch_up(self) -> None:
        self._scheduled = False
        changed = self.transcript.take_changed()
        if changed is None or not self._laid_out:
            return
        if self._past is None:
            self._make_rows(changed)
        elif self._joined:
            self._make_rows(max(changed - self._joint(self._past.end), 0) + len(self._past.blocks))
            if len(self._rows) > MOST_BACK + SLACK:
                self._make_rows(0, below=self._let_go(len(self._rows) - self.scroll_offset.y))
        else:  # it is not shown; a block has a row at least
            self.transcript.forget(max(len(self.transcript.blocks) - MOST_ROWS, 0))

    def _joint(self, mark: int) -> int:
        """The first block of the transcript that is not of a turn or unit before this one."""
        return bisect_left(self.transcript.blocks, mark, key=lambda block: block.mark)

    def _shown_blocks(self) -> list[RowsBlock]:
        if self._past is None:
            return self.transcript.blocks
        return self._past.blocks + (self.transcript.blocks[self._joint(self._past.end) :] if self._joined else [])

    def _make_rows(self, first: int, *, rewrapped: bool = False, below: int | None = None) -> None:
        """The rows from a block on. `below`: how many are to be below the top of the view; none of them are new."""
        before, top = len(self._rows), self._top()
        if self._past is None and (unseen := self._unseen(first)):
            self.transcript.forget(unseen)
            first = 0
        blocks = self._shown_blocks()
        first = min(first, len(self._starts))
        if first < len(self._starts):
            del self._rows[self._starts[first] :]
            del self._starts[first:], self._blocks[first:]
        if first == 0:
            self._cut = self._past.begin > 0 if self._past else self.transcript.forgot
            self._rows = [EARLIER] if self._cut else []
        for block in blocks[first:]:
            self._starts.append(len(self._rows) if self._starts else 0)
            self._blocks.append(block)
            if block.spaced and not block.hidden:
                self._rows.append(())
            self._rows += block.rows(self._laid_out)[0 if self._past else -MOST_ROWS :]
        if self._past and not self._joined:
            self._rows.append(LATER)
        grown = len(self._rows) - before if below is None and not rewrapped else 0
        y = self._row_of(top, rewrapped) if below is None else len(self._rows) - below
        if self._past is None and len(self._rows) > MOST_ROWS + SLACK:
            y -= self._drop()
        self.virtual_size = Size(self._laid_out, len(self._rows))
        if self.following:
            self.scroll_end(animate=False, immediate=True, x_axis=False, force=True)
        else:
            if y != self.scroll_offset.y:
                self.scroll_to(y=max(y, 0), animate=False, immediate=True, force=True)
            self.behind = max(self.behind + grown, 0)
            self.post_message(self.Followed(self.behind))
        self.refresh()

    def _unseen(self, first: int) -> int:
        """How many blocks, one without rows yet among them, would have none left; theirs need not be made."""
        blocks, rows = self.transcript.blocks, 0
        for index in range(len(blocks) - 1, min(first, len(self._starts)), -1):
            rows += len(blocks[index].rows(self._laid_out))
            if rows >= MOST_ROWS:
                return index
        return 0

    def _top(self) -> tuple[RowsBlock, int, int] | None:
        """What is at the top of the view: the block, how many of its rows are above, and how many it has."""
        y = self.scroll_offset.y
        index = self._block_at(y)
        if index is None:
            return None
        return self._blocks[index], y - self._starts[index], self._end(index) - self._starts[index]

    def _row_of(self, top: tuple[RowsBlock, int, int] | None, rewrapped: bool) -> int:
        """Where that is now, however many rows came or went above it."""
        if top is None or self.following:
            return self.scroll_offset.y
        held, above, rows = top
        index = next((number for number, block in enumerate(self._blocks) if block is held), None)
        if index is None:
            return self.scroll_offset.y
        if rewrapped:
            above = above * (self._end(index) - self._starts[index]) // max(rows, 1)
        return self._starts[index] + above

    def _end(self, index: int) -> int:
        return self._starts[index + 1] if index + 1 < len(self._starts) else len(self._rows)

    def _drop(self) -> int:
        """Let the oldest rows go, and the blocks that have none left; returns how many rows went."""
        over = len(self._rows) - MOST_ROWS
        count = max(bisect_right(self._starts, over) - 1, 0)
        self.transcript.forget(count)
        del self._rows[:over], self._blocks[:count]
        self._rows[0], self._cut = EARLIER, True
        self._starts = [max(start - over, 0) for start in self._starts[count:]]
        return over

    # ── from the journal

    def _load_soon(self, load: Callable[[], None]) -> None:
        """Once, when what scrolls has come to its place."""
        if not self._asked_to_load:
            self._asked_to_load = True
            self.call_later(load)

    def _load_earlier(self) -> None:
        """Put what came before above the first row; what is in view stays where it is."""
        self._asked_to_load = False
        if self._read is None or self._rows[:1] != [EARLIER]:
            return
        below = len(self._rows) - self.scroll_offset.y
        if self._past is None:  # the turn that has lost its beginning is loaded whole
            start = self._whole_from()
            self._past = PastBlocks(self._read, self.transcript.marks, sys.maxsize if start is None else start)
            self._joined = start is not None
            below += int(start is None)  # the row that says so
        loaded = 0
        while loaded < PIECE and self._past.begin:
            loaded += self._count(self._past.earlier())
        self._make_rows(0, below=self._let_go(below))

    def _load_later(self) -> None:
        """Put what came after below the last row, until the transcript follows on it."""
        self._asked_to_load = False
        past, marks = self._past, self.transcript.marks
        if past is None or self._joined:
            return
        loaded = 0
        while loaded < PIECE and not self._joined:
            if (start := self._whole_from()) is not None and past.end >= start:
                self._joined = True
            elif past.end >= marks[-1]:
                self.to_end()
                return
            else:
                loaded += self._count(past.later())
        self._make_rows(0, below=self._let_go(self._row_count(past) - self.scroll_offset.y))

    def to_start(self) -> None:
        """Go to the beginning of the session."""
        if self._rows[:1] == [EARLIER] and self._read and len(self.transcript.marks) > 1:
            self.move_to(0)
            self._past, self._joined, self.following = PastBlocks(self._read, self.transcript.marks, 0), False, False
            self._load_later()
        self.move_to(0)

    def _whole_from(self) -> int | None:
        """The first turn or unit that the transcript has all of."""
        place = bisect_right(self.transcript.marks, self.transcript.blocks[0].mark)
        return self.transcript.marks[place] if place < len(self.transcript.marks) else None

    def _count(self, blocks: list[RowsBlock]) -> int:
        return sum(len(block.rows(self._laid_out)) + (block.spaced and not block.hidden) for block in blocks)

    def _row_count(self, past: PastBlocks) -> int:
        """How many rows there will be, with those that say that there are more."""
        return self._count(self._shown_blocks()) + int(past.begin > 0) + int(not self._joined)

    def _let_go(self, below: int) -> int:
        """Let rows go that are far from the view; returns how many are below its top then."""
        past, far = self._past, 2 * self.size.height
        assert past
        rows = self._row_count(past)
        if rows <= MOST_BACK:
            return below
        if self._joined:
            live = self._count(self.transcript.blocks[self._joint(past.end) :])
            if below - live > far:
                self._joined = False
                rows, below = rows - live + 1, below - live + 1
        while not self._joined and past.spans > 1 and rows > MOST_BACK and below - self._count(past.last) > far:
            gone = self._count(past.drop_last())
            rows, below = rows - gone, below - gone
        while past.spans > int(not self._joined) and rows > MOST_BACK and rows - below - self._count(past.first) > far:
            rows -= self._count(past.drop_first())
        self._past = past if past.spans else None
        return below

    def rebuild(self) -> None:
        """All rows anew, at the width there is now; what was at the top stays at the top."""
        self.transcript.take_changed()
        self._make_rows(0, rewrapped=True)

    def on_resize(self, event: events.Resize) -> None:
        width = max(self.scrollable_content_region.width - 2 * MARGIN, 10)
        if width != self._laid_out:
            self._laid_out = width
            self.rebuild()
        if self.following:  # of the new height the end is known after the layout
            self.call_after_refresh(self.to_end)

    def use_theme(self, theme_name: str) -> None:
        self.theme_name = theme_name
        self._drawn.clear()
        self.refresh()

    # ── drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines in view. A line that was drawn stays as it is while its row stays where it is, since a stream asks
        for all of them twenty times a second."""
        width, base, background = self.size.width, self.rich_style, self.background_colors[1]
        filters = self.get_line_filters()
        special = bool(self.found or self.text_selection or (self.has_focus and self._at))
        lines = []
        for y in range(crop.y + self.scroll_offset.y, crop.bottom + self.scroll_offset.y):
            row = self._rows[y] if y < len(self._rows) else None
            key = (y, row, self.theme_name, width)
            strip = None if special else self._drawn.get(key)
            if strip is None:
                strip = self._line(row, y, width, base)
                for line_filter in filters:
                    strip = strip.apply_filter(line_filter, background)
                if not special:
                    self._drawn[key] = strip
            lines.append(strip if crop.width == width else strip.crop(crop.x, crop.right))
        return lines

    def render_line(self, y: int) -> Strip:
        """One line of those in view, as the mouse finds what is under it."""
        return self.render_lines(Region(0, y, self.size.width, 1))[0]

    def _line(self, row: Row | None, y: int, width: int, base: Style) -> Strip:
        if row is None:
            return Strip.blank(width, base)
        selection = self.text_selection
        span = selection.get_span(y) if selection else None
        marked = self.has_focus and self._at is not None and self._is_head(y, self._at)
        if span is not None or marked or (self.found and self.found in plain(row).lower()):
            return self._special(row, y, width, base, span, marked)
        segments = [Segment(" " * MARGIN, base), *(Segment(t, base + style(self.theme_name, r)) for t, r in row)]
        return Strip(segments).crop_extend(0, width, base).apply_offsets(0, y)

    def _special(self, row: Row, y: int, width: int, base: Style, span: tuple[int, int] | None, marked: bool) -> Strip:
        """A line with something on it that comes and goes: a selection, a match, the cursor."""
        text = Text(" " * MARGIN, style=base, no_wrap=True, end="")
        for piece, role in row:
            text.append(piece, base + style(self.theme_name, role))
        if marked:
            text.stylize("reverse", MARGIN, len(text.plain))
        if self.found:
            small, at = text.plain.lower(), 0
            while (at := small.find(self.found, at)) >= 0:
                text.stylize(style(self.theme_name, "match"), at, at + len(self.found))
                if y == self.found_at:
                    text.stylize("bold underline", at, at + len(self.found))
                at += len(self.found)
        if span is not None:
            start, end = span
            chosen = self.screen.get_component_rich_style("screen--selection")
            text.stylize(chosen, start, len(text.plain) if end == -1 else end)
        segments = list(text.render(self.app.console))
        return Strip(segments).crop_extend(0, width, base).apply_offsets(0, y)

    # ── folding

    def _block_at(self, y: int) -> int | None:
        if not self._starts or y >= len(self._rows):
            return None
        return max(bisect_right(self._starts, y) - 1, 0)

    def _is_head(self, y: int, block: RowsBlock) -> bool:
        index = self._block_at(y)
        if index is None or self._blocks[index] is not block or (self._cut and not index):
            return False
        return y == self._starts[index] + int(block.spaced)

    def on_click(self, event: events.Click) -> None:
        y = event.y + self.scroll_offset.y
        index = self._block_at(y)
        if index is not None and not self.screen.get_selected_text():
            block = self._blocks[index]
            if block.foldable and (block.folded or self._is_head(y, block)):
                self._at = block
                self._toggle(index)

    def action_open_or_close(self) -> None:
        for index, block in enumerate(self._blocks):
            if block is self._at:
                self._toggle(index)

    def _toggle(self, index: int) -> None:
        following, self.following = self.following, False  # what is opened stays where it is
        self._blocks[index].toggle()
        self._make_rows(index)
        self.behind = 0
        self.following = following and self.max_scroll_y <= self.scroll_offset.y
        self.post_message(self.Followed(self.behind))

    def toggle_all(self) -> None:
        """Open every fold, or close them if one is open."""
        folds = [block for block in self._blocks if block.foldable]
        any_open = any(not block.folded for block in folds)
        for block in folds:
            if block.folded != any_open:
                block.toggle()
        self.rebuild()

    def action_move(self, by: int) -> None:
        folds = [(i, block) for i, block in enumerate(self._blocks) if block.foldable]
        if not folds:
            return
        here = next((n for n, (_, block) in enumerate(folds) if block is self._at), None)
        if here is None:  # begin with the last one in view
            bottom = self.scroll_offset.y + self.size.height
            seen = [n for n, (i, _) in enumerate(folds) if self._starts[i] < bottom]
            here = (seen[-1] if seen else 0) - by
        number = min(max(here + by, 0), len(folds) - 1)
        index, self._at = folds[number]
        y = self._starts[index]
        top, height = self.scroll_offset.y, self.size.height
        if not top <= y < top + height - 1:
            self.move_to(max(y - height // 3, 0))
        self.refresh()

    def wants(self, key: str) -> bool:
        """Whether a key does something here."""
        return key in self._bindings.key_to_bindings

    def on_focus(self) -> None:
        if self._at is None:
            self.action_move(0)

    # ── scrolling

    @property
    def page(self) -> int:
        """The rows that PageUp and PageDown move by: those in view but one, which shows where you are."""
        return max(self.size.height - 1, 1)

    def scroll_by(self, rows: int) -> None:
        if rows < 0 and not self.scroll_offset.y:
            self._load_earlier()
        self.move_to(self.scroll_offset.y + rows)

    def move_to(self, y: int) -> None:
        self.scroll_to(y=min(max(y, 0), self.max_scroll_y), animate=False, immediate=True, force=True)

    def to_end(self) -> None:
        self.following, self.behind = True, 0
        if self._past:
            self._past = None
            self.rebuild()
        self.post_message(self.Followed(0))
        self.scroll_end(animate=False, immediate=True, x_axis=False, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        at_end = new_value >= self.max_scroll_y - 0.5
        if self._past and not self._joined and at_end:
            self._load_soon(self._load_later)
            at_end = False
        elif self._past and at_end and new_value > old_value:
            self.call_later(self.to_end)
        elif new_value < 1 and new_value < old_value:
            self._load_soon(self._load_earlier)
        if at_end and (not self.following or self.behind):
            self.behind = 0
            self.post_message(self.Followed(0))
        elif not at_end and self.following and new_value < old_value:
            self.post_message(self.Followed(0))
        if new_value != old_value:
            self.following = at_end

    # ── finding and copying

    def find(self, words: str, backwards: bool = True, again: bool = False) -> tuple[int, int]:
        """Go to the next row with these words; which match it is, and how many there are."""
        self.found = words.lower()
        matches = [y for y, row in enumerate(self._rows) if self.found and self.found in plain(row).lower()]
        if not matches:
            self.found_at = -1
            self.refresh()
            return 0, 0
        start = self.found_at if again and self.found_at >= 0 else self.scroll_offset.y + self.size.height
        if backwards:
            earlier = [y for y in matches if y < start]
            self.found_at = earlier[-1] if earlier else matches[-1]
        else:
            later = [y for y in matches if y > start]
            self.found_at = later[0] if later else matches[0]
        if not self.scroll_offset.y <= self.found_at < self.scroll_offset.y + self.size.height:
            self.move_to(self.found_at - self.size.height // 2)
        self.refresh()
        return matches.index(self.found_at) + 1, len(matches)

    def stop_finding(self) -> None:
        self.found, self.found_at = "", -1
        self.refresh()

    @property
    def allow_select(self) -> bool:
        return True

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        text = "\n".join(" " * MARGIN + plain(row) for row in self._rows)
        lines = selection.extract(text).split("\n")
        return "\n".join(line.removeprefix(" " * MARGIN).rstrip() for line in lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    @property
    def shown(self) -> list[str]:
        """Every row as text."""
        return [plain(row) for row in self._rows]

    @property
    def widest(self) -> int:
        return max((cell_len(line) for line in self.shown), default=0)
