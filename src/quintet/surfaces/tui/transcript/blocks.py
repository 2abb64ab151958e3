"""What the transcript is made of: blocks, each a few rows at a given width. Some can be folded.

A block knows nothing of the terminal: the transcript changes it, and the scrollback asks it for its rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from rich.cells import cell_len

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import counted
from quintet.domain.edits.numbered_diff import numbered_files
from quintet.domain.journal.describe import Line
from quintet.domain.turn.command_output import COMMAND, first_lines, without_exit
from quintet.domain.turn.tool_spec import CallStatus
from quintet.surfaces.tui.transcript.markdown import MarkdownLines
from quintet.surfaces.tui.transcript.rows import Row, Span, clean, fitted, lines_of, side_by_side, wrap

FOLDED, UNFOLDED = "▸", "▾"
MOST_LINES = 400  # of one call's output
MOST_DIFF = 40  # lines of a change that are shown without being asked for
MOST_BRIEF = 32  # cells of what a call is about, where several share a row
ERROR_LINES = 6
OPENS = "click, or Tab and Enter"
PROGRESS_LINES = 5
_LABELLED = regex(r" *\S{1,10}  +(?=\S)")  # a word and a gap: the later rows of a long line stand behind it
_DIFF = {"+": "success", "-": "error", "@": "info"}
_STATUS_ROLES = {
    CallStatus.OK: "success",
    CallStatus.ERROR: "error",
    CallStatus.DENIED: "warning",
    CallStatus.INTERRUPTED: "warning",
}


class Block(ABC):
    """Rows at a width, made once until it changes."""

    foldable = False
    folded = False
    hidden = False
    spaced = False  # whether an empty row comes before it
    mark = 0  # the event at which its turn or unit began

    def __init__(self) -> None:
        self._rows: list[Row] | None = None
        self._width = 0

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


class PromptBlock(Block):
    """What the person said."""

    spaced = True

    def __init__(self, text: str, role: str = "bold", mark: str = "› ") -> None:
        super().__init__()
        self._lines = lines_of(text)
        self._role = role
        self._mark = mark

    def make(self, width: int) -> list[Row]:
        rows: list[Row] = []
        for number, line in enumerate(self._lines):
            mark = " " * len(self._mark) if number else self._mark
            rows += wrap([(mark, "accent"), (line, self._role)], width, " " * len(self._mark))
        return rows


class LinesBlock(Block):
    """Lines with roles, as `describe` gives them."""

    def __init__(self, lines: Sequence[Line], indent: str = "") -> None:
        super().__init__()
        self.lines = list(lines)
        self._indent = indent

    def make(self, width: int) -> list[Row]:
        rows: list[Row] = []
        for line in self.lines:
            text = clean(self._indent + line.text)
            lead = _LABELLED.match(text)
            hang = " " * lead.end() if lead else text[: len(text) - len(text.lstrip())] + "  "
            rows += wrap([(text, line.role)], width, hang) if text else [()]
        return rows


class AnswerBlock(Block):
    """What the model says, also while it streams."""

    spaced = True

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.markdown = MarkdownLines(text)

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


class FoldedBlock(Block):
    """A heading, and below it, when opened, a text: reasoning, a report."""

    foldable = True

    def __init__(self, heading: str, text: str = "", role: str = "dim", *, markdown: bool = False) -> None:
        super().__init__()
        self.heading = heading
        self._parts = [text]
        self.folded = True
        self._role = role
        self._markdown = markdown

    @property
    def text(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0]

    def append(self, text: str) -> None:
        self._parts.append(text)
        self.changed()

    def make(self, width: int) -> list[Row]:
        mark = FOLDED if self.folded else UNFOLDED
        text = self.text.strip("\n")
        count = text.count("\n") + 1
        about = f"  {counted(count, 'line')}" if self.folded and text else ""
        rows = wrap([(f"  {mark} ", "accent"), (clean(self.heading), self._role), (about, "dim")], width, "    ")
        if self.folded:
            return rows
        if self._markdown:
            return [*rows, *MarkdownLines(text, "    ").rows(width)]
        return [*rows, *(row for line in lines_of(text) for row in wrap([(f"    {line}", "dim")], width, "    "))]


class CallBlock(Block):
    """A tool call: one row, and below it what it changed or printed, or what went wrong."""

    foldable = True

    def __init__(self, tool: str, about: str) -> None:
        super().__init__()
        self.tool = clean(tool)
        self._about = clean(about)
        self.status: CallStatus | None = None  # while it runs
        self.folded = True
        self.content = ""
        self._summary = ""
        self._diff = False
        self._plain = "dim"  # the role of what it printed
        self._progress: list[str] = []

    def progress(self, text: str) -> None:
        self._progress = lines_of("\n".join([*self._progress, text.rstrip("\n")]))[-PROGRESS_LINES:]
        self.changed()

    def finish(self, status: CallStatus, content: str, summary: str, seconds: float, *, diff: bool) -> None:
        self.status, self.content, self._diff = status, content, diff
        took = f"{seconds:.1f} s" if seconds >= 0.1 else ""
        unsaid = {CallStatus.OK: "", CallStatus.INTERRUPTED: "stopped"}  # the turn's end says interrupted
        said = clean(summary) or unsaid.get(status, str(status))
        self._summary = ", ".join(filter(None, (said, took)))
        self.folded = not (diff and len(self._body()) <= MOST_DIFF)
        self._progress = []
        self.changed()

    def show(self) -> None:
        """Open it: what it printed is what the person asked for."""
        self.folded, self._plain = False, ""
        self.changed()

    @property
    def brief(self) -> Span:
        """The call in a few words, and their role."""
        said = f" ({self._summary})" if self._summary else ""
        role = "" if self.status in (None, CallStatus.OK) else _STATUS_ROLES[self.status]
        return f"{self.tool} {fitted(self._about, MOST_BRIEF)}".rstrip() + said, role

    def make(self, width: int) -> list[Row]:
        mark = FOLDED if self.folded else UNFOLDED
        role = "accent" if self.status is None else _STATUS_ROLES[self.status]
        head: list[Span] = [(f"  {mark} ", role), (self.tool, "bold"), (f" {self._about}", "")]
        summary = self._summary or ("running" if self.status is None else "")
        tail = f"  {summary}".rstrip()
        if self.folded:  # one row, however long
            room = max(width - sum(cell_len(text) for text, _ in head[:2]) - cell_len(tail), 8)
            head[2] = (fitted(head[2][0], room), "")
        rows = wrap([*head, (tail, "dim" if self.status in (None, CallStatus.OK) else role)], width, "    ")
        return rows + self._below(width)

    def _below(self, width: int) -> list[Row]:
        if self.status is None:
            return [row for line in self._progress for row in wrap([(f"    {line}", "dim")], width, "    ")]
        body = self._body()
        if self.folded:
            return self._part(body, width)
        role = "error" if self.status is CallStatus.ERROR else self._plain
        rows: list[Row] = []
        for line in body[:MOST_LINES]:
            shade = _DIFF.get(line[:1], "dim") if self._diff else role
            rows += wrap([(f"    {line}", shade)], width, "            " if self._diff else "      ")
        if len(body) > MOST_LINES:
            rows.append(((f"    … {len(body) - MOST_LINES} more lines", "dim"),))
        return rows

    def _part(self, body: list[str], width: int) -> list[Row]:
        """What is shown while it is folded: where an error ends, or how what a command printed begins."""
        if self.status is CallStatus.ERROR:
            hidden, body, role = len(body) - ERROR_LINES, body[-ERROR_LINES:], "error"
        elif self.tool == COMMAND and self.status is CallStatus.OK and not self._diff:
            (body, hidden), role = first_lines(body), "dim"
        else:
            return []
        rows: list[Row] = [((fitted(f"    {line}", width), role),) for line in body]
        if hidden > 0:
            words = f"    … {counted(hidden, 'more line')} {'above ' if role == 'error' else ''}· {OPENS}"
            rows.insert(0 if role == "error" else len(rows), ((fitted(words, width), "dim"),))
        return rows

    def _body(self) -> list[str]:
        if self._diff:
            return [clean(line) for line in numbered_files(self.content.rstrip("\n"))]
        lines = lines_of(self.content.rstrip("\n")) if self.content else []
        return without_exit(lines, self._summary)


class JoinedCallsBlock(Block):
    """The calls of a finished unit, side by side in a row; opened, each as before."""

    foldable = True

    def __init__(self, calls: Sequence[CallBlock]) -> None:
        super().__init__()
        self._calls = calls
        self.folded = False
        self.toggle()

    def toggle(self) -> None:
        super().toggle()
        for call in self._calls:
            call.hidden, call.foldable = self.folded, not self.folded

    def make(self, width: int) -> list[Row]:
        if not self.folded:
            return [((f"  {UNFOLDED} ", "accent"), (f"{len(self._calls)} calls", "dim"))]
        rows = side_by_side([[call.brief] for call in self._calls], max(width - 4, 1), " · ")
        return [((f"  {FOLDED} " if not number else "    ", "accent"), *row) for number, row in enumerate(rows)]
