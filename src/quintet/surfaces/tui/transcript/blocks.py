"""The transcript's blocks on the screen, each as rows at a width.

A block knows nothing of the terminal: the transcript changes it, and the scrollback asks it for its rows.
"""

from __future__ import annotations

from abc import abstractmethod

from rich.cells import cell_len

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import counted
from quintet.domain.edits.numbered_diff import numbered_files
from quintet.domain.turn.shown_output import COMMAND, both_ends, without_exit
from quintet.domain.turn.tool_spec import CallStatus
from quintet.surfaces.transcript.blocks import (
    ERROR_LINES,
    MOST_LINES,
    PROGRESS_LINES,
    AnswerBlock,
    Block,
    CallBlock,
    FoldedBlock,
    JoinedCallsBlock,
    LinesBlock,
    PromptBlock,
)
from quintet.surfaces.transcript.transcript import Transcript
from quintet.surfaces.tui.transcript.markdown import MarkdownLines
from quintet.surfaces.tui.transcript.rows import Row, Span, clean, fitted, lines_of, side_by_side, wrap

FOLDED, UNFOLDED = "▸", "▾"
MOST_BRIEF = 32  # cells of what a call is about, where several share a row
OPENS = "click, or Tab and Enter"
PROMPT_MARK = "› "
_LABELLED = regex(r" *(?:\S{1,10}  +){1,2}(?=\S)")  # words and gaps: the later rows of a long line stand behind them
_DIFF = {"+": "success", "-": "error", "@": "info"}
_STATUS_ROLES = {
    CallStatus.OK: "success",
    CallStatus.ERROR: "error",
    CallStatus.DENIED: "warning",
    CallStatus.INTERRUPTED: "warning",
}


class RowsBlock(Block):
    """Rows at a width, made once until it changes."""

    _rows: list[Row] | None = None
    _width = 0

    def rows(self, width: int) -> list[Row]:
        if self.hidden:
            return []
        if self._rows is None or width != self._width:
            self._width = width
            self._rows = self.make(width)
        return self._rows

    @abstractmethod
    def make(self, width: int) -> list[Row]: ...

    def changed(self) -> None:
        self._rows = None

    def toggle(self) -> None:
        if self.foldable:
            self.folded = not self.folded
            self.changed()


class PromptRows(RowsBlock, PromptBlock):
    def make(self, width: int) -> list[Row]:
        rows: list[Row] = []
        for number, line in enumerate(lines_of(self.text)):
            mark = " " * len(PROMPT_MARK) if number else PROMPT_MARK
            rows += wrap([(mark, "accent"), (line, self.role)], width, " " * len(PROMPT_MARK))
        return rows


class LineRows(RowsBlock, LinesBlock):
    def make(self, width: int) -> list[Row]:
        rows: list[Row] = []
        for line in self.lines:
            text = clean(self.indent + line.text)
            lead = _LABELLED.match(text)
            hang = " " * lead.end() if lead else text[: len(text) - len(text.lstrip())] + "  "
            rows += wrap([(text, line.role)], width, hang) if text else [()]
        return rows


class AnswerRows(RowsBlock, AnswerBlock):
    def __init__(self, text: str = "", *, plain: bool = False) -> None:
        self.markdown = MarkdownLines(text, plain=plain)

    def append(self, text: str) -> None:
        self.markdown.append(text)
        self.changed()

    def finish(self, text: str) -> None:
        self.markdown.replace(text)
        self.changed()

    @property
    def text(self) -> str:
        return self.markdown.text

    def make(self, width: int) -> list[Row]:
        rows = self.markdown.rows(width)
        while rows and not rows[-1]:
            rows.pop()
        return rows


class FoldedRows(RowsBlock, FoldedBlock):
    def make(self, width: int) -> list[Row]:
        mark = FOLDED if self.folded else UNFOLDED
        text = self.text
        count = text.count("\n") + 1
        about = f"  {counted(count, 'line')}" if self.folded and text else ""
        rows = wrap([(f"  {mark} ", "accent"), (clean(self.heading), self.role), (about, "dim")], width, "    ")
        if self.folded:
            return rows
        if self.markdown:
            return [*rows, *MarkdownLines(text, "    ").rows(width)]
        return [*rows, *(row for line in lines_of(text) for row in wrap([(f"    {line}", "dim")], width, "    "))]


class CallRows(RowsBlock, CallBlock):
    """One row, and below it what the call changed or printed, or what went wrong."""

    @property
    def brief(self) -> Span:
        """The call in a few words, and their role."""
        said = f" ({clean(self.summary)})" if self.summary else ""
        role = "" if self.status in (None, CallStatus.OK) else _STATUS_ROLES[self.status]
        return f"{clean(self.tool)} {fitted(clean(self.about), MOST_BRIEF)}".rstrip() + said, role

    def make(self, width: int) -> list[Row]:
        mark = FOLDED if self.folded else UNFOLDED
        role = "accent" if self.status is None else _STATUS_ROLES[self.status]
        head: list[Span] = [(f"  {mark} ", role), (clean(self.tool), "bold"), (f" {clean(self.about)}", "")]
        summary = clean(self.summary) or ("running" if self.status is None else "")
        tail = f"  {summary}".rstrip()
        if self.folded:  # one row, however long
            room = max(width - sum(cell_len(text) for text, _ in head[:2]) - cell_len(tail), 8)
            head[2] = (fitted(head[2][0], room), "")
        rows = wrap([*head, (tail, "dim" if self.status in (None, CallStatus.OK) else role)], width, "    ")
        return rows + self._below(width)

    def _below(self, width: int) -> list[Row]:
        if self.status is None:
            progress = lines_of("\n".join(self.latest))[-PROGRESS_LINES:] if self.latest else []
            return [row for line in progress for row in wrap([(f"    {line}", "dim")], width, "    ")]
        body = self._body()
        if self.folded:
            return self._part(body, width)
        role = "error" if self.status is CallStatus.ERROR else "" if self.asked_for else "dim"
        rows: list[Row] = []
        for line in body[:MOST_LINES]:
            shade = _DIFF.get(line[:1], "dim") if self.diff else role
            rows += wrap([(f"    {line}", shade)], width, "            " if self.diff else "      ")
        if len(body) > MOST_LINES:
            rows.append(((f"    … {len(body) - MOST_LINES} more lines", "dim"),))
        return rows

    def _part(self, body: list[str], width: int) -> list[Row]:
        """What is shown while it is folded: where an error ends, or both ends of what a command printed."""
        first: list[str] = []
        if self.status is CallStatus.ERROR:
            hidden, last, role = len(body) - ERROR_LINES, body[-ERROR_LINES:], "error"
        elif self.tool == COMMAND and self.status is CallStatus.OK and not self.diff:
            (first, hidden, last), role = both_ends(body), "dim"
        else:
            return []
        rows: list[Row] = [((fitted(f"    {line}", width), role),) for line in (*first, *last)]
        if hidden > 0:
            words = f"    … {counted(hidden, 'more line')} {'above ' if role == 'error' else ''}· {OPENS}"
            rows.insert(len(first), ((fitted(words, width), "dim"),))
        return rows

    def _body(self) -> list[str]:
        if self.diff:
            return [clean(line) for line in numbered_files(self.content.rstrip("\n"))]
        lines = lines_of(self.content.rstrip("\n")) if self.content else []
        return without_exit(lines, self.shell)


class JoinedCallRows(RowsBlock, JoinedCallsBlock):
    def toggle(self) -> None:
        self.fold(not self.folded)
        self.changed()

    def make(self, width: int) -> list[Row]:
        if not self.folded:
            return [((f"  {UNFOLDED} ", "accent"), (f"{len(self.calls)} calls", "dim"))]
        briefs = [[call.brief] for call in self.calls if isinstance(call, CallRows)]
        rows = side_by_side(briefs, max(width - 4, 1), " · ")
        return [((f"  {FOLDED} " if not number else "    ", "accent"), *row) for number, row in enumerate(rows)]


class ScreenTranscript(Transcript):
    prompt_block = PromptRows
    lines_block = LineRows
    answer_block = AnswerRows
    folded_block = FoldedRows
    call_block = CallRows
    joined_block = JoinedCallRows
    blocks: list[RowsBlock]
