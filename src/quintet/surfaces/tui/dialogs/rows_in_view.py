"""Rows of text to be scrolled in a dialog: only those in view are drawn, so that a long text holds nobody up."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from quintet.surfaces.tui.transcript.rows import Row, plain


class RowsInView(ScrollView, can_focus=False):
    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []

    def show(self, rows: Sequence[Row]) -> None:
        self._lines = list(map(plain, rows))
        self.virtual_size = Size(max(map(cell_len, self._lines), default=0), len(self._lines))
        self.refresh(layout=True)

    def render_line(self, y: int) -> Strip:
        place, style = y + self.scroll_offset.y, self.rich_style
        line = self._lines[place] if place < len(self._lines) else ""
        return Strip([Segment(line, style)]).crop_extend(0, self.size.width, style)
